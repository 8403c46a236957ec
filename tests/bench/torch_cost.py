# SPDX-License-Identifier: Apache-2.0
# What `torch` times: calls of torch.distributed in batches. A line per batch: nanoseconds per call, by the clock and of
# CPU time of this thread.
#
#   torch_cost.py allreduce|ddp BATCHES CALLS      as a rank of torch_ranks.py, or alone
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

what, batches, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
rank = dist.get_rank()

if what == "allreduce":
    tensor = torch.ones(4)

    def once():
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
else:
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 16)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = torch.randn(64, 128), torch.randn(64, 16)

    def once():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()

lines = []
for batch in range(batches + 2):  # the first ones warm up
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    for _ in range(calls):
        once()
    lines.append("%d %d" % ((time.perf_counter_ns() - wall) / calls, (time.thread_time_ns() - cpu) / calls))
recorded = any("rollcall" in line for line in open("/proc/self/maps", encoding="utf-8"))
assert recorded == ("LD_PRELOAD" in os.environ)
if rank == 0:
    print("\n".join(lines[2:]))
dist.destroy_process_group()
