# A barrier of the program's own on the store, without a rank that waits for a file.
#
# rollcall-test: ranks=4 outcome=hung stall-after=3
# expect: kind=rank-stalled culprits=3 waiting=0-2 op=any seq=any certainty=likely,suspected
import datetime
import os
import time

import torch
import torch.distributed as dist
from support import FAULT, RANK, report

store = dist.distributed_c10d._get_default_store()
minutes = datetime.timedelta(minutes=30)


def store_barrier(name):
    if store.add("arrived/" + name, 1) == dist.get_world_size():
        store.set("go/" + name, "1")
    store.wait(["go/" + name], minutes)  # @waiting


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.5)  # @culprit


value = torch.ones(1)
for epoch in range(4):
    dist.all_reduce(value)
    value /= 4
    if FAULT and RANK == 3 and epoch == 2:
        wait_for("/nonexistent/checkpoint")
    store_barrier("epoch%d" % epoch)
report("value", value)
