// A pool of workers in each rank takes tasks from a queue; each exchanges messages of its own tag
// with its like in the other rank, and works between. Some are in a receive, some compute, some
// wait for a task; the main thread waits for all.
//
// rollcall-test: ranks=2
// expect: none
#include <deque>
#include <thread>
#include <vector>

#include "tests/faults/threads.h"

namespace {

constexpr int kWorkers = 3;
constexpr int kTasks = 4;

class Tasks {
 public:
  void Add(int task) {
    const std::lock_guard<std::mutex> guard(mutex_);
    tasks_.push_back(task);
    changed_.notify_one();
  }
  int Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !tasks_.empty(); });
    const int task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> tasks_;
};

// The ranks take turns in who is late with a task.
int Perform(int task, double quiet) {
  const int rank = WorldRank();
  if (task % 2 == rank) Compute(quiet / 2);
  int got = 0;
  if (task % 2 == rank) {
    MPI_Send(&task, 1, MPI_INT, 1 - rank, task, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, task, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, task, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&task, 1, MPI_INT, 1 - rank, task, MPI_COMM_WORLD);
  }
  return got;
}

}  // namespace

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  Tasks tasks;
  std::vector<int> sums(kWorkers);
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] {
      for (int task = tasks.Take(); task >= 0; task = tasks.Take()) sums[i] += Perform(task, quiet);
    });
  }
  for (int task = 0; task < kTasks; ++task) tasks.Add(task);
  for (int i = 0; i < kWorkers; ++i) tasks.Add(-1);
  int total = 0;
  for (int i = 0; i < kWorkers; ++i) {
    workers[i].join();
    total += sums[i];
  }
  Report("total", total);
  MPI_Finalize();
  return 0;
}
