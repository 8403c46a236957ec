// An event loop in a thread of rank 0 waits in epoll_wait for a timer, as asynchronous runtimes do,
// and then broadcasts by messages; all main threads are in a receive, or wait for the loop.
//
// rollcall-test: ranks=3
// expect: none
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <thread>

#include "tests/faults/threads.h"

namespace {

void RunLoop(double seconds) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const struct itimerspec when = {{0, 0}, {static_cast<time_t>(seconds), 1}};
  timerfd_settime(timer, 0, &when, nullptr);
  const int loop = epoll_create1(0);
  struct epoll_event event = {};
  event.events = EPOLLIN;
  epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event);
  epoll_wait(loop, &event, 1, -1);
  close(loop);
  close(timer);
  for (int rank = 1; rank < WorldSize(); ++rank) SendToService(8, rank, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  int value = 8;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    std::thread loop(RunLoop, quiet);
    loop.join();
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
