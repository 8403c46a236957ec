# Rank 2 has one batch less than the others and no Join: they wait for its gradients, and rank 2 waits for
# them in the barrier after the training.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=2 waiting=0,1 op=any seq=any certainty=proven
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
    return loss.detach()


mean = train(STEPS - 1 if FAULT and RANK == 2 else STEPS)
dist.barrier()  # @culprit
report("loss", mean)
