# Rank 2 waits for a file that nobody writes.
#
# rollcall-test: ranks=3 outcome=hung stall-after=5
# expect: kind=rank-stalled culprits=2 waiting=0,1 op=any seq=any certainty=likely,suspected
import os
import time

import torch
import torch.distributed as dist
from support import FAULT, RANK, report


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.5)  # @culprit


value = torch.ones(1)
for number in range(20):
    if FAULT and RANK == 2 and number == 15:
        wait_for("/nonexistent/checkpoint")
    dist.all_reduce(value)  # @waiting
    value /= 3
report("value", value)
