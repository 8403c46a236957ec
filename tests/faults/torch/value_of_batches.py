# Rank 2's shard has one batch less. The program records the length of its shard, and the number of each step.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=2 waiting=0,1 op=any seq=any certainty=proven
# expect+: values=batches:3/4,steps:3/4
import os
import sys

import torch.distributed as dist
from support import FAULT, RANK, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../cli/python"))
import rollcall  # noqa: E402


def train(steps):
    model, optimizer = wrap(nn.Linear(128, 16))
    for step in range(steps):
        inputs, targets = batch()
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()  # @waiting
        optimizer.step()
        rollcall.value("step", step)
    return loss.detach()


steps = 3 if FAULT and RANK == 2 else 4
rollcall.value("batches", steps)
mean = train(steps)
dist.barrier()  # @culprit
report("loss", mean)
