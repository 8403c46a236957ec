// Rank 1 reduces fewer elements than the others.
//
// rollcall-test: ranks=3 outcome=hung stall-after=300
// expect: kind=count-mismatch culprits=1 waiting=any op=all_reduce seq=2 comm=default_pg
// expect+: certainty=proven,likely
#include "tests/torch_sim/job.h"

int main() {
  const Group group = NewGroup();
  c10d::Tensors data = {Floats(16, 1)};
  c10d::Tensors part = {Floats(kFault && Rank() == 1 ? 8 : 16, 1)};
  Wait(group->allreduce(data, {}));
  Wait(group->allreduce(part, {}));  // @waiting @culprit
  Report("sum", part[0]);
  return 0;
}
