// Every step of the work calls a pump, which looks for messages of the others; a step takes some
// microseconds, and for seconds there is no message. As parallel ABySS does.
//
// rollcall-test: ranks=2
// expect: none
// rollcall-test: name=long ranks=2
// arguments: 12
// expect: none
// rollcall-test: name=longer ranks=2 repeat=1 check=
// arguments: 45
// expect: none
#include "tests/faults/quiet.h"

enum { kItem = 1, kEnd = 2 };

typedef struct {
  MPI_Request receiving;
  double buffer;
  double total;
  int ended;
} Pump;

static void Listen(Pump* pump) {
  MPI_Irecv(&pump->buffer, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
            &pump->receiving);
}

static void Turn(Pump* pump) {
  int done = 0;
  if (pump->ended) return;  // the other rank was faster
  MPI_Status status;
  MPI_Request_get_status(pump->receiving, &done, &status);
  if (!done) {
    int there = 0;  // of the control messages, which are looked for apart
    MPI_Iprobe(MPI_ANY_SOURCE, kEnd + 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Wait(&pump->receiving, MPI_STATUS_IGNORE);
  pump->total += pump->buffer;
  if (status.MPI_TAG == kEnd) {
    ++pump->ended;
  } else {
    Listen(pump);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int other = 1 - WorldRank();
  Pump pump = {MPI_REQUEST_NULL, 0, 0, 0};
  Listen(&pump);
  MPI_Barrier(MPI_COMM_WORLD);
  double item = 1;
  MPI_Send(&item, 1, MPI_DOUBLE, other, kItem, MPI_COMM_WORLD);
  const double until = Now() + quiet;
  while (Now() < until) {
    Compute(20e-6);
    Turn(&pump);
  }
  item = 10;
  MPI_Send(&item, 1, MPI_DOUBLE, other, kItem, MPI_COMM_WORLD);
  MPI_Send(&item, 1, MPI_DOUBLE, other, kEnd, MPI_COMM_WORLD);
  while (!pump.ended) Turn(&pump);
  Report("total", pump.total);
  MPI_Finalize();
  return 0;
}
