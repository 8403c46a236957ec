# Rank 1 averages its loss as float64, the others as float32.
#
# rollcall-test: ranks=3 outcome=failed
# expect: kind=datatype-mismatch culprits=1 waiting=any op=any seq=any certainty=proven
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

total = torch.zeros(8)
for epoch in range(5):
    losses = torch.ones(8)
    if FAULT and RANK == 1 and epoch == 3:
        losses = losses.double()
    dist.all_reduce(losses)  # @culprit
    total += losses.float()
report("loss", total.sum())
