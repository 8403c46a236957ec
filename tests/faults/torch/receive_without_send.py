# Rank 0 sends the border to rank 1 in every step but one, in which nothing has changed.
#
# rollcall-test: ranks=2 outcome=hung
# expect: kind=uneven-iterations culprits=none waiting=any op=any seq=any certainty=likely
import torch
import torch.distributed as dist
from support import FAULT, RANK, STEPS, report

border = torch.zeros(64)
for step in range(STEPS):
    if RANK == 0:
        if FAULT and step == STEPS - 1:
            continue
        dist.isend(border + step, dst=1).wait()
    else:
        dist.irecv(border, src=0).wait()
dist.barrier()
report("border", border[0])
