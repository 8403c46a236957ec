// A data filter drops two of rank 3's batches; it makes two iterations less and finalizes while
// the others wait in the loop.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=3 waiting=0-2 op=MPI_Allreduce seq=7
// expect+: certainty=proven
#include <vector>

#include "tests/faults/fault.h"

namespace {

std::vector<double> Load(int rank) {
  std::vector<double> kept;
  for (int i = 0; i < 8; ++i) {
#ifdef FAULT
    if (rank == 3 && i % 4 == 0) continue;
#endif
    kept.push_back(rank + i);
  }
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double total = 0;
  for (const double value : Load(WorldRank())) {
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
    total += sum;
  }
  Report("total", total);
  MPI_Finalize();  // @culprit
  return 0;
}
