// The main threads are in a receive; a timer of the C library calls a function in a thread that the
// library makes for it, and this function sends.
//
// rollcall-test: ranks=2
// expect: none
#include <signal.h>

#include "tests/faults/threads.h"

namespace {

void SendToOther(union sigval other) { SendToService(6, other.sival_int, MPI_COMM_WORLD); }

void StartTimer(double seconds, int other) {
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = SendToOther;
  event.sigev_value.sival_int = other;
  const struct itimerspec when = {{0, 0}, {static_cast<time_t>(seconds), 1}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &when, nullptr) != 0) {
    perror("timer");
    exit(9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int other = 1 - WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
  StartTimer(quiet, other);
  int got = -1;
  MPI_Recv(&got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  // The other's timer thread may still be inside its send.
  MPI_Barrier(MPI_COMM_WORLD);
  Report("got", got);
  MPI_Finalize();
  return 0;
}
