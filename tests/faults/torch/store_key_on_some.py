# A barrier of the program's own on the store, which rank 3 skips in one epoch.
#
# rollcall-test: ranks=4 outcome=hung stall-after=2
# expect: kind=rank-conditional-collective culprits=3 waiting=0-2 op=any seq=any certainty=likely,suspected
# expect+: analyze-certainty=likely,suspected
import datetime

import torch
import torch.distributed as dist
from support import FAULT, RANK, report

store = dist.distributed_c10d._get_default_store()
minutes = datetime.timedelta(minutes=30)


def store_barrier(name):
    if store.add("arrived/" + name, 1) == dist.get_world_size():
        store.set("go/" + name, "1")
    store.wait(["go/" + name], minutes)  # @waiting


value = torch.ones(1)
for epoch in range(4):
    dist.all_reduce(value)  # @culprit
    value /= 4
    if FAULT and RANK == 3 and epoch == 2:
        continue
    store_barrier("epoch%d" % epoch)
report("value", value)
