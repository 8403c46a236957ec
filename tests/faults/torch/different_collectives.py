# Rank 0 broadcasts the threshold that the others reduce.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=collective-mismatch culprits=0 waiting=1,2 op=any seq=any certainty=proven
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

dist.all_reduce(torch.ones(2))
threshold = torch.ones(1)
if FAULT and RANK == 0:
    dist.broadcast(threshold, src=0)  # @culprit
else:
    dist.all_reduce(threshold)  # @waiting
dist.barrier()
report("threshold", threshold)
