// With TORCH_NCCL_BLOCKING_WAIT, Work.wait waits on the host. Rank 0 gathers the losses to log
// them; the others do not.
//
// rollcall-test: ranks=3 outcome=hung stall-after=300
// expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=all_gather seq=2
// expect+: comm=default_pg certainty=proven,likely lines=culprit
#include "tests/torch_sim/job.h"

int main() {
  setenv("TORCH_NCCL_BLOCKING_WAIT", "1", 1);
  const Group group = NewGroup();
  c10d::Tensors loss = {Floats(1, 1)};
  at::Tensor all = Floats(8, 0);
  for (int step = 0; step < 4; ++step) {
    Wait(group->allreduce(loss, {}));
    if (!kFault || Rank() == 0) {
      Wait(group->_allgather_base(all, loss[0], {}));  // @culprit
    }
  }
  Report("loss", loss[0]);
  return 0;
}
