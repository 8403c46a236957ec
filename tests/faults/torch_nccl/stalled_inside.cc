// The device of rank 1 stops in the second reduction, after it has given the others all that they
// need: they complete it, and wait in the third.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=gpu-stalled culprits=1 waiting=any op=all_reduce seq=2 comm=default_pg
// expect+: certainty=suspected lines=none
#include "tests/torch_sim/job.h"

int main() {
  if (kFault && Rank() == 1) setenv("NCCL_SIM_STALL_IN", "2", 1);
  const Group group = NewGroup();
  c10d::Tensors data = {Floats(16, 1)};
  for (int step = 0; step < 4; ++step) {
    Wait(group->allreduce(data, {}));
    cudaDeviceSynchronize();
  }
  Report("sum", data[0]);
  return 0;
}
