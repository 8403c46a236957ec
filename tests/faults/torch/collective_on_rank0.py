# Every tenth step only rank 0 gathers the losses to log them.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=any seq=any certainty=proven
import torch
import torch.distributed as dist
from support import FAULT, RANK, STEPS, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss


def log(loss):
    losses = [torch.zeros(()) for _ in range(dist.get_world_size())]
    dist.all_gather(losses, loss.detach())  # @culprit
    return sum(losses) / len(losses)


def train(steps):
    model, optimizer = wrap(nn.Linear(128, 16))
    for step in range(steps):
        inputs, targets = batch()
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()  # @waiting
        optimizer.step()
        if step % 10 == 9 and (not FAULT or RANK == 0):
            mean = log(loss)
    return mean


report("loss", train(STEPS))
