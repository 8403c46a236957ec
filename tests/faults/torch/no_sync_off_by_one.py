# Gradients are accumulated over four batches and reduced in the last one; rank 2 counts from one.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=2 waiting=0,1 op=any seq=any certainty=proven,likely
import contextlib

import torch.distributed as dist
from support import FAULT, RANK, STEPS, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss


def train(steps):
    model, optimizer = wrap(nn.Linear(128, 16))
    first = 1 if FAULT and RANK == 2 else 0
    for step in range(first, steps):
        inputs, targets = batch()
        last = step % 4 == 3 and step + first < steps
        with contextlib.nullcontext() if last else model.no_sync():
            loss = mse_loss(model(inputs), targets)
            loss.backward()  # @waiting
        if last:
            optimizer.step()
            optimizer.zero_grad()
    return loss.detach()


mean = train(STEPS)
dist.barrier()  # @culprit
report("loss", mean)
