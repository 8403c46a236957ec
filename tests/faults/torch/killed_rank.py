# Rank 1 is killed, as by the kernel when memory runs out.
#
# rollcall-test: ranks=3 outcome=failed
# expect: kind=rank-died culprits=1 waiting=any op=any seq=any certainty=proven,likely
import os
import signal

import torch
import torch.distributed as dist
from support import FAULT, RANK, report

value = torch.ones(1)
for step in range(10):
    if FAULT and RANK == 1 and step == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(value)
    value /= dist.get_world_size()
report("value", value)
