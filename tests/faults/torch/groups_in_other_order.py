# Rank 1 reduces over all ranks before its row.
#
# rollcall-test: ranks=4 outcome=hung
# expect: kind=order-inversion culprits=1 waiting=any op=any seq=any certainty=likely,proven
import torch
import torch.distributed as dist
from support import FAULT, RANK, STEPS, report

rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
row = rows[RANK // 2]
value = torch.ones(1)


def step(number):
    if FAULT and RANK == 1 and number == 20:
        dist.all_reduce(value)  # @culprit
        dist.all_reduce(value, group=row)
    else:
        dist.all_reduce(value, group=row)  # @waiting
        dist.all_reduce(value)


for number in range(STEPS):
    step(number)
    value /= 4
report("value", value)
