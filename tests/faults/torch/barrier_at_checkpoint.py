# Rank 0 saves a checkpoint, and only rank 0 enters the barrier that is meant to wait for it.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=any seq=any certainty=proven
import torch.distributed as dist
from support import FAULT, RANK, STEPS, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss


def save(step):
    if FAULT and RANK == 0 and step == 20:
        dist.barrier()  # @culprit


def train(steps):
    model, optimizer = wrap(nn.Linear(128, 16))
    for step in range(steps):
        inputs, targets = batch()
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()  # @waiting
        optimizer.step()
        save(step)
    return loss.detach()


report("loss", train(STEPS))
