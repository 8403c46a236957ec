// A pipeline whose last stage does not receive the third batch. The messages of a batch are one
// group of NCCL (batch_isend_irecv).
//
// rollcall-test: ranks=3 outcome=hung stall-after=300
// expect: kind=p2p-unmatched culprits=1,2 waiting=any op=send seq=any comm=default_pg
// expect+: certainty=likely lines=none
#include "tests/torch_sim/job.h"

int main() {
  const Group group = NewGroup();
  c10d::Tensors in = {Floats(16, 0)};
  c10d::Tensors out = {Floats(16, 1)};
  for (int batch = 0; batch < 4; ++batch) {
    const bool last = Rank() == Size() - 1;
    group->startCoalescing();
    if (!last) group->send(out, Rank() + 1, 0);
    if (Rank() > 0 && !(kFault && last && batch == 2)) group->recv(in, Rank() - 1, 0);
    Wait(group->endCoalescing());
  }
  c10d::Tensors done = {Floats(1, 1)};
  Wait(group->allreduce(done, {}));
  Report("done", done[0]);
  return 0;
}
