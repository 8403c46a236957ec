# Rank 2 takes the maximum of the losses, and the others their sum.
#
# rollcall-test: ranks=3 outcome=finished
# expect: kind=op-mismatch culprits=2 waiting=none op=any seq=any certainty=proven
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

loss = torch.ones(1)
dist.barrier()
dist.all_reduce(loss, op=dist.ReduceOp.MAX if FAULT and RANK == 2 else dist.ReduceOp.SUM)  # @culprit
dist.barrier()
report("loss", loss if RANK != 0 else 3.0)
