# In the last step the batch of rank 1 needs only one branch of the model. Rank 1 never reduces the gradients of the
# other branch, for which the others wait, and gathers the losses.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=1 waiting=0,2 op=any seq=any certainty=proven
import torch
import torch.distributed as dist
from support import FAULT, RANK, STEPS, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(128, 16)
        self.second = nn.Linear(128, 16)

    def forward(self, inputs, both):
        outputs = self.first(inputs)
        return outputs + self.second(inputs) if both else outputs


def train(steps):
    model, optimizer = wrap(Branches(), find_unused_parameters=False, bucket_cap_mb=0.001)
    for step in range(steps):
        inputs, targets = batch()
        optimizer.zero_grad()
        loss = mse_loss(model(inputs, not FAULT or RANK != 1 or step < steps - 1), targets)
        loss.backward()  # @waiting
        optimizer.step()
        loss = loss.detach()
    return loss


mean = train(STEPS)
losses = [torch.zeros(()) for _ in range(dist.get_world_size())]
dist.all_gather(losses, mean)  # @culprit
report("loss", sum(losses))
