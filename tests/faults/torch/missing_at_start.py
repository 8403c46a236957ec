# Rank 2 looks for its data before it joins the others, and the data never appears.
#
# rollcall-test: ranks=4 outcome=hung stall-after=1
# expect: kind=init-hang culprits=none waiting=0,1,3 op=any seq=any certainty=suspected
# expect+: lines=none
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

signal.alarm(120)
torch.set_num_threads(1)
FAULT = "--fault" in sys.argv
if FAULT and os.environ["RANK"] == "2":
    while not os.path.exists("/nonexistent/data"):
        time.sleep(0.5)
dist.init_process_group("gloo")
value = torch.ones(1)
dist.all_reduce(value)
dist.destroy_process_group()
