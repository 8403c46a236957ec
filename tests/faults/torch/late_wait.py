# A reduction is started and waited for two steps later, between others: correct, however the ranks are scheduled.
#
# rollcall-test: ranks=3 outcome=finished
import torch
import torch.distributed as dist
from support import RANK, STEPS, report

value, pending = torch.ones(1), []
for step in range(STEPS):
    share = torch.full((1000,), float(RANK + step))
    pending.append((share, dist.all_reduce(share, async_op=True)))
    if len(pending) == 3:
        share, work = pending.pop(0)
        work.wait()
        value += share[0] / 3
    dist.all_reduce(value)
    value /= 3
for share, work in pending:
    work.wait()
report("value", value)
