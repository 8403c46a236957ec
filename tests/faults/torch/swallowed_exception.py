# Rank 1 catches the exception of a damaged sample and goes on with the next batch, without the backward pass.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=1 waiting=0,2 op=any seq=any certainty=proven,likely
import torch.distributed as dist
from support import FAULT, RANK, STEPS, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss


def check(inputs, step):
    if FAULT and RANK == 1 and step == 7:
        raise ValueError("sample 7 is damaged")
    return inputs


def train(steps):
    model, optimizer = wrap(nn.Linear(128, 16))
    for step in range(steps):
        inputs, targets = batch()
        optimizer.zero_grad()
        try:
            loss = mse_loss(model(check(inputs, step)), targets)
            loss.backward()  # @waiting
        except ValueError:
            continue
        optimizer.step()
    return loss.detach()


mean = train(STEPS)
dist.barrier()  # @culprit
report("loss", mean)
