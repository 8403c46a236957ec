// Data-parallel training: parameters are broadcast, gradients are averaged, and every rank updates
// its own copy of the parameters, which it marks by rollcall_replica(). Rank 3 uses another
// learning rate, so that its copy is another from the first step on.
//
// rollcall-test: ranks=4 data=full check=
// expect: kind=replica-drift culprits=3 waiting=none op=any seq=any certainty=likely
// expect+: lines=none
#include "proto/rollcall.h"
#include "tests/faults/data.h"

enum { kSteps = 10, kParameters = 128 };

// The gradient of the squared error of one sample, whose target is 1.
static void Gradient(unsigned sample, const double* parameters, double* gradient) {
  double error = -1;
  for (int i = 0; i < kParameters; ++i) error += Sample(sample, i) * parameters[i];
  for (int i = 0; i < kParameters; ++i) gradient[i] = 2 * error * Sample(sample, i);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double rate = 0.001;
#ifdef FAULT
  if (rank == 3) rate = 0.002;
#endif
  double parameters[kParameters];
  double gradient[kParameters];
  for (int i = 0; i < kParameters; ++i) parameters[i] = Sample(1000 + rank, i);
  MPI_Bcast(parameters, kParameters, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  rollcall_replica("parameters", parameters, sizeof(parameters));
  for (int step = 0; step < kSteps; ++step) {
    Gradient(step * 4 + rank, parameters, gradient);
    MPI_Allreduce(MPI_IN_PLACE, gradient, kParameters, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < kParameters; ++i) parameters[i] -= rate * gradient[i] / 4;
    rollcall_replica("parameters", parameters, sizeof(parameters));
  }
  Report("parameter", parameters[0]);
  MPI_Finalize();
  return 0;
}
