// Rank 2 skips the reduction of the gradients in the third step. Work.wait returns at once on all
// ranks: the others wait for their device.
//
// rollcall-test: ranks=4 outcome=hung stall-after=300
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1,3 op=all_reduce seq=5
// expect+: comm=default_pg certainty=proven,likely
#include "tests/torch_sim/job.h"

static void Step(c10d::Backend& group, c10d::Tensors& gradients, at::Tensor& all, int step) {
  const bool skip = kFault && step == 2 && Rank() == 2;
  if (!skip) {
    Wait(group.allreduce(gradients, {}));  // @waiting
  }
  Wait(group._allgather_base(all, gradients[0], {}));  // @culprit
  cudaDeviceSynchronize();
}

int main() {
  const Group group = NewGroup();
  c10d::Tensors gradients = {Floats(4, 1)};
  at::Tensor all = Floats(64, 0);
  for (int step = 0; step < 4; ++step) Step(*group, gradients, all, step);
  Report("sum", gradients[0]);
  return 0;
}
