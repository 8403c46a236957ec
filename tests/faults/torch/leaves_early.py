# Rank 1 has no data left and exits with 0; the others need it, and lose their connections to it.
#
# rollcall-test: ranks=3 outcome=failed
# expect: kind=finalized-early culprits=1 waiting=any op=any seq=any certainty=proven,likely
import sys

import torch
import torch.distributed as dist
from support import FAULT, RANK, report

value = torch.ones(1)
for step in range(10):
    if FAULT and RANK == 1 and step == 6:
        sys.exit(0)
    dist.all_reduce(value)
    value /= dist.get_world_size()
report("value", value)
