# The ranks are told that there is one more than was started.
#
# rollcall-test: ranks=3 outcome=hung stall-after=1
# expect: kind=init-hang culprits=none waiting=0-2 op=any seq=any certainty=suspected
# expect+: lines=none
import os
import signal
import sys

import torch
import torch.distributed as dist

signal.alarm(120)
torch.set_num_threads(1)
FAULT = "--fault" in sys.argv
if FAULT:
    os.environ["WORLD_SIZE"] = "4"
dist.init_process_group("gloo")
value = torch.ones(1)
dist.all_reduce(value)
dist.destroy_process_group()
