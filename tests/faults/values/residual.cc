// A solver stops when the residual is small. Rank 0's residual is rounded differently in round 12,
// so that rank 0 stops, and the others go on. Of the residuals, the last eight are on record.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=0 waiting=1-3 op=MPI_Allreduce seq=13
// expect+: certainty=proven values=residual:0.0024/0.0025
#include "proto/rollcall.h"
#include "tests/faults/fault.h"

namespace {

double Residual(int rank, int round) {
  if (round < 12) return 1.0 / (round + 1);
#ifdef FAULT
  return rank == 0 ? 0.0024 : 0.0025 / (round - 11);
#else
  return rank >= 0 ? 0.0024 : 0.0025;
#endif
}

void Solve(int rank) {
  for (int round = 1;; ++round) {
    int mine = 1;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // @waiting
    const double residual = Residual(rank, round);
    rollcall_value("residual", residual);
    if (residual < 0.0025) break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Solve(WorldRank());
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  Report("done", 1);
  MPI_Finalize();
  return 0;
}
