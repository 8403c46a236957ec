// All ranks test a receive without a pause; a timer's signal handler sets the flag by which rank 0
// begins to send.
//
// rollcall-test: ranks=3
// expect: none
#include <signal.h>

#include "tests/faults/quiet.h"

static volatile sig_atomic_t due = 0;

static void OnTimer(int signal) {
  (void)signal;
  due = 1;
}

static void StartTimer(double seconds) {
  struct sigaction action = {0};
  action.sa_handler = OnTimer;
  action.sa_flags = SA_RESTART;
  sigaction(SIGRTMIN + 3, &action, NULL);
  struct sigevent event = {0};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN + 3;
  struct itimerspec when = {{0, 0}, {(time_t)seconds, 1}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &when, NULL) != 0) {
    perror("timer");
    exit(9);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  const int right = (rank + 1) % WorldSize();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  int token = -1;
  int done = 0;
  int sent = 0;
  MPI_Request receiving;
  MPI_Irecv(&token, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &receiving);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) StartTimer(quiet);
  while (!done) {
    MPI_Test(&receiving, &done, MPI_STATUS_IGNORE);
    if (rank == 0 && due && !sent) {
      MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
      sent = 1;
    }
  }
  if (rank != 0) MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
  Report("token", token);
  MPI_Finalize();
  return 0;
}
