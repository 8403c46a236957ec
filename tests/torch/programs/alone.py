# SPDX-License-Identifier: Apache-2.0
# PyTorch without a process group: also with torch.distributed imported, and with workers.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

torch.set_num_threads(1)
torch.manual_seed(3)
layer = torch.nn.Linear(8, 8)
for _ in range(20):
    layer(torch.randn(4, 8)).sum().backward()
batches = sum(int(batch.sum()) for batch in DataLoader(list(range(32)), batch_size=4, num_workers=2))
print("gradient", float(layer.weight.grad.sum()).hex(), batches, dist.is_initialized(), flush=True)
