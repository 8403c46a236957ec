# The ranks that are to average their weights make a group for it; rank 3 takes another branch, and does not.
#
# rollcall-test: ranks=4 outcome=hung stall-after=2
# expect: kind=init-hang culprits=3 waiting=any op=any seq=any certainty=likely,suspected
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

value = torch.ones(1)
dist.all_reduce(value)
group = None
if not (FAULT and RANK == 3):
    group = dist.new_group([0, 1, 2, 3])  # @waiting
dist.all_reduce(value)  # @culprit
value /= 16
report("value", value)
