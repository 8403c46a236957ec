# Rank 0 stops when its own validation loss no longer falls, and tells nobody.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=0 waiting=1,2 op=any seq=any certainty=proven
import torch.distributed as dist
from support import FAULT, RANK, STEPS, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss


def train(steps):
    model, optimizer = wrap(nn.Linear(128, 16))
    for step in range(steps):
        inputs, targets = batch()
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()  # @waiting
        optimizer.step()
        if FAULT and RANK == 0 and step == 25:
            break
    return loss.detach()


mean = train(STEPS)
dist.barrier()  # @culprit
report("loss", mean)
