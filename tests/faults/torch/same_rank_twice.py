# The second process has the RANK of the third.
#
# rollcall-test: ranks=3 outcome=hung stall-after=2
# expect: kind=init-hang culprits=2 waiting=any op=any seq=any certainty=likely
# expect+: lines=none
import os
import signal
import sys

import torch
import torch.distributed as dist

signal.alarm(120)
torch.set_num_threads(1)
FAULT = "--fault" in sys.argv
if FAULT and os.environ["RANK"] == "1":
    os.environ["RANK"] = "2"
dist.init_process_group("gloo")
value = torch.ones(1)
dist.all_reduce(value)
dist.destroy_process_group()
