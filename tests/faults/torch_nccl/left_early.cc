// Rank 1 ends after two of three steps.
//
// rollcall-test: ranks=3 outcome=hung stall-after=300
// expect: kind=finalized-early culprits=1 waiting=0,2 op=all_reduce seq=3 comm=default_pg
// expect+: certainty=proven,likely lines=none
#include "tests/torch_sim/job.h"

int main() {
  const Group group = NewGroup();
  c10d::Tensors gradients = {Floats(16, 1)};
  const int steps = kFault && Rank() == 1 ? 2 : 3;
  for (int step = 0; step < steps; ++step) {
    Wait(group->allreduce(gradients, {}));
    cudaDeviceSynchronize();
  }
  Report("sum", gradients[0]);
  return 0;
}
