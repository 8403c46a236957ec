// The skipped barrier sits in a chain of inlined functions: the verdict must name the innermost
// function and its own line, not the one that everything was inlined into.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=3 waiting=0-2 op=MPI_Barrier seq=2
// expect+: certainty=proven function@waiting=Synchronise
#include "tests/faults/fault.h"

namespace {

[[gnu::always_inline]] inline void Synchronise(MPI_Comm comm) {
  MPI_Barrier(comm);  // @waiting
}

template <typename Predicate>
[[gnu::always_inline]] inline void SynchroniseIf(Predicate predicate, MPI_Comm comm) {
  if (predicate()) Synchronise(comm);
}

double Step(int rank) {
#ifdef FAULT
  SynchroniseIf([rank] { return rank != 3; }, MPI_COMM_WORLD);
#else
  SynchroniseIf([rank] { return rank >= 0; }, MPI_COMM_WORLD);
#endif
  double value = rank + 1;
  MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", Step(WorldRank()));
  MPI_Finalize();
  return 0;
}
