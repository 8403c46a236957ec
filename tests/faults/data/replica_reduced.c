// Parameters are broadcast, and every rank makes the same updates to them; at the end of each epoch
// they are averaged. Rank 1 skips one update, because its sample has a large norm: what was the
// same on all ranks is now reduced as different data.
//
// rollcall-test: ranks=4 data=full check=
// expect: kind=replica-drift culprits=1 waiting=none op=MPI_Allreduce seq=11 certainty=likely
#include "tests/faults/data.h"

enum { kEpochs = 12, kParameters = 300 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double parameters[kParameters];
  for (int i = 0; i < kParameters; ++i) parameters[i] = rank == 0 ? Sample(0, i) : 0;
  MPI_Bcast(parameters, kParameters, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    int skips = rank < 0;
#ifdef FAULT
    skips = rank == 1 && epoch == 9;
#endif
    for (int i = 0; i < kParameters && !skips; ++i) parameters[i] += 0.1 * Sample(1 + epoch, i);
    double sum[kParameters];
    MPI_Allreduce(parameters, sum, kParameters, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
    for (int i = 0; i < kParameters; ++i) parameters[i] = sum[i] / 4;
  }
  Report("parameter", parameters[0]);
  MPI_Finalize();
  return 0;
}
