# Rank 0 sends with tag 7, rank 1 receives with tag 8.
#
# rollcall-test: ranks=2 outcome=hung
# expect: kind=p2p-unmatched culprits=any waiting=any op=any seq=any certainty=likely
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

value = torch.full((4,), float(RANK))
if RANK == 0:
    dist.send(value, dst=1, tag=7)
else:
    dist.recv(value, src=0, tag=8 if FAULT else 7)
dist.barrier()
report("value", value[0])
