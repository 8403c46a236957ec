# SPDX-License-Identifier: Apache-2.0
# DistributedDataParallel on the CPU: prints the loss to the bit, and writes this rank's memory and open files at each
# quarter.
#
#   train.py STEPS DIRECTORY
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

steps, directory = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(7)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
inputs, targets = torch.randn(64, 16), torch.randn(64, 4)


def anonymous_kib():
    with open("/proc/self/status", encoding="utf-8") as status:
        return int(next(line for line in status if line.startswith("RssAnon:")).split()[1])


for step in range(1, steps + 1):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    if step % (steps // 4) == 0:
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print(step, float(total).hex(), flush=True)
        with open(os.path.join(directory, "rank%d" % rank), "a", encoding="utf-8") as file:
            file.write("%d %d %d\n" % (step, anonymous_kib(), len(os.listdir("/proc/self/fd"))))
dist.barrier()
dist.destroy_process_group()
