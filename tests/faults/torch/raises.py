# Rank 1 raises an exception; the others lose their connections to it.
#
# rollcall-test: ranks=3 outcome=failed
# expect: kind=uncaught-exception culprits=1 waiting=any op=any seq=any certainty=proven,likely
import torch
import torch.distributed as dist
from support import FAULT, RANK, report


def load(step):
    if FAULT and RANK == 1 and step == 6:
        raise ValueError("sample 6 is damaged")  # @culprit
    return torch.ones(1)


total = torch.zeros(1)
for step in range(10):
    total += load(step)
    dist.all_reduce(total)
    total /= dist.get_world_size()
report("total", total)
