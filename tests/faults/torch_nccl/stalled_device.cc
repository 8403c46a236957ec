// The stream of rank 1 stops behind its first reduction, and its host waits for the device; the
// others continue to the next.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=gpu-stalled culprits=1 waiting=0,2 op=all_reduce seq=2 comm=default_pg
// expect+: certainty=suspected lines=none
#include "tests/torch_sim/job.h"

static void NeverEnds(void*) { pause(); }

int main() {
  const Group group = NewGroup();
  c10d::Tensors data = {Floats(16, 1)};
  for (int step = 0; step < 2; ++step) {
    Wait(group->allreduce(data, {}));
    if (kFault && Rank() == 1) cudaLaunchHostFunc(group->Stream(), NeverEnds, nullptr);
    cudaDeviceSynchronize();
  }
  Report("sum", data[0]);
  return 0;
}
