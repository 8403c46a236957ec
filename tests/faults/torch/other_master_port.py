# Rank 1 has another MASTER_PORT, of a job before.
#
# rollcall-test: ranks=3 outcome=hung stall-after=2
# expect: kind=init-hang culprits=1 waiting=0,2 op=any seq=any certainty=likely
import os
import signal
import sys

import torch
import torch.distributed as dist

signal.alarm(120)
torch.set_num_threads(1)
FAULT = "--fault" in sys.argv


def join(port):
    if port:
        os.environ["MASTER_PORT"] = port
        dist.init_process_group("gloo")  # @culprit
    else:
        dist.init_process_group("gloo")  # @waiting


# Nobody listens at port 9.
join("9" if FAULT and os.environ["RANK"] == "1" else None)
value = torch.ones(1)
dist.all_reduce(value)
dist.destroy_process_group()
