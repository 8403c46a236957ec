// Rank 1 does not come to the first operation: the others make the communicator of NCCL in it, and
// wait there for rank 1 on the host.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=rank-stalled culprits=1 waiting=0,2 op=broadcast seq=1 comm=default_pg
// expect+: certainty=likely lines=none
#include "tests/torch_sim/job.h"

int main() {
  const Group group = NewGroup();
  c10d::Tensors parameters = {Floats(16, static_cast<float>(Rank()))};
  if (kFault && Rank() == 1) pause();
  Wait(group->broadcast(parameters, {}));
  Report("first", parameters[0]);
  return 0;
}
