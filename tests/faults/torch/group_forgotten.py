# The ranks of a column reduce their gradients; rank 3 forgets it in one step.
#
# rollcall-test: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective culprits=3 waiting=any op=any seq=any certainty=likely,proven
import torch
import torch.distributed as dist
from support import FAULT, RANK, STEPS, report

columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
column = columns[RANK % 2]
value = torch.ones(1)
for number in range(STEPS):
    if not (FAULT and RANK == 3 and number == 20):
        dist.all_reduce(value, group=column)
    dist.all_reduce(value)
    value /= 8
report("value", value)
