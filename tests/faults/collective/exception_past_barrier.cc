// One rank throws past a barrier; main catches the exception, logs it, and goes on to the
// shutdown's collective, which the others never reach.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1,3 op=MPI_Barrier seq=2
// expect+: certainty=proven
#include <stdexcept>

#include "tests/faults/fault.h"

namespace {

int Parse(int rank) {
#ifdef FAULT
  if (rank == 2) throw std::runtime_error("bad input");
#endif
  return rank;
}

[[gnu::noinline]] int Work(int rank) {
  int version = 7;
  MPI_Bcast(&version, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const int parsed = Parse(rank) + version;
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  return parsed;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = 0;
  try {
    result = Work(WorldRank());
  } catch (const std::exception& error) {
    fprintf(stderr, "ignored: %s\n", error.what());
  }
  int sum = 0;
  MPI_Allreduce(&result, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // @culprit
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
