# The ranks that have found bad samples gather them; rank 2 has none, and does not take part.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=2 waiting=0,1 op=any seq=any certainty=proven,likely
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

bad = [] if FAULT and RANK == 2 else [RANK]
dist.all_reduce(torch.ones(3))
if bad:
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, bad)  # @waiting
dist.barrier()  # @culprit
report("bad", len(bad))
