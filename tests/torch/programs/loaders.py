# SPDX-License-Identifier: Apache-2.0
# A rank that trains from a DataLoader whose workers are forked while a process group exists, and use torch themselves.
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
dist.init_process_group("gloo")


class Squares(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((4,), float(index)).square().sum()


total = torch.zeros(1)
for _ in range(3):
    for batch in DataLoader(Squares(), batch_size=8, num_workers=2, multiprocessing_context="fork"):
        share = batch.sum().reshape(1)
        dist.all_reduce(share)
        total += share
if dist.get_rank() == 0:
    print("total", float(total).hex(), flush=True)
dist.destroy_process_group()
