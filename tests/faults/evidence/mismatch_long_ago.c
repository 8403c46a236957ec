// Rank 2 reduces by another operation once, which no library detects. When the job ends, ten
// thousand calls later, the ring has lost it; the checkpoints have not. With Open MPI only: three
// ranks of MPICH on two cores need minutes for so many calls.
//
// rollcall-test: ranks=3 outcome=finished mpi=openmpi
// launcher: env ROLLCALL_RING_KIB=256 OMPI_ROLLCALL_RING_KIB=256
// expect: kind=desync culprits=2 waiting=any op=any seq=any certainty=likely
// expect+: lines=none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef FAULT
  const MPI_Op op = WorldRank() == 2 ? MPI_MIN : MPI_MAX;
#else
  const MPI_Op op = MPI_MAX;
#endif
  int value = 0;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, op, MPI_COMM_WORLD);
  for (int i = 0; i < 10000; ++i) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  Report("value", value);
  MPI_Finalize();
  return 0;
}
