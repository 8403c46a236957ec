// Code of programs in which several threads of a rank may call MPI.
#ifndef ROLLCALL_TESTS_FAULTS_THREADS_H_
#define ROLLCALL_TESTS_FAULTS_THREADS_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/faults/quiet.h"

inline void InitThreads(int* argc, char*** argv, int level = MPI_THREAD_MULTIPLE) {
  int provided = 0;
  MPI_Init_thread(argc, argv, level, &provided);
  if (provided < level) {
    fprintf(stderr, "this MPI has no thread level %d\n", level);
    exit(9);
  }
}

// Set once by one thread; waiting for it is an untimed wait for a condition variable.
class Event {
 public:
  void Set() {
    const std::lock_guard<std::mutex> guard(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return set_; });
  }
  // Like Wait(), woken every so often to look.
  void WaitInSteps(double step) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::duration<double>(step), [this] { return set_; })) {
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// A service thread's body: adds up what other ranks send until it is sent a negative number.
inline int Serve(MPI_Comm comm) {
  int total = 0;
  for (;;) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
    if (value < 0) return total;
    total += value;
  }
}

inline void SendToService(int value, int rank, MPI_Comm comm) {
  MPI_Send(&value, 1, MPI_INT, rank, 1, comm);
}

#endif  // ROLLCALL_TESTS_FAULTS_THREADS_H_
