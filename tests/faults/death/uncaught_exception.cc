// An exception leaves main on rank 1: std::terminate raises SIGABRT, and the others wait for the
// dead rank.
//
// rollcall-test: ranks=3 outcome=hung
// launcher[openmpi]: --enable-recovery
// launcher[mpich]: -disable-auto-cleanup sh -c '"$@" || exec sleep 8' sh
// expect: kind=uncaught-exception culprits=1 waiting=0,2 op=MPI_Allgather seq=2 certainty=proven
#include <stdexcept>
#include <vector>

#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<int> all(WorldSize());
  MPI_Barrier(MPI_COMM_WORLD);
  ArriveBefore(1);
  MPI_Barrier(MPI_COMM_SELF);
  const int mine = WorldRank();
#ifdef FAULT
  if (mine == 1) throw std::out_of_range("no such shard");  // @culprit
#endif
  MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);  // @waiting
  Report("last", all.back());
  MPI_Finalize();
  return 0;
}
