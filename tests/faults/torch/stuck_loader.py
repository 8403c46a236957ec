# A worker process of rank 1's data loader blocks on a pipe without a writer: rank 1 waits for its batch, and the
# others for its gradients.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-stalled culprits=1 waiting=0,2 op=any seq=any certainty=likely analyze-certainty=likely,suspected
import os

import torch
from support import FAULT, RANK, STEPS, report, wrap
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self):
        return 8 * STEPS

    def __getitem__(self, index):
        if FAULT and RANK == 1 and index == 100:
            os.read(os.pipe()[0], 1)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(128, generator=generator), torch.randn(16, generator=generator)


def train():
    model, optimizer = wrap(nn.Linear(128, 16))
    for inputs, targets in DataLoader(Samples(), batch_size=8, num_workers=1):  # @culprit
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()  # @waiting
        optimizer.step()
    return loss.detach()


report("loss", train())
