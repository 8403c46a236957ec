# SPDX-License-Identifier: Apache-2.0
# The ranks are processes that torch.multiprocessing starts, and meet at a file: two jobs, one after the other. Those
# that are forked end by _exit(0).
#
#   spawn.py spawn|fork
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def rank_main(rank, path, steps):
    dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
    value = torch.tensor([float(rank + 1)])
    for _ in range(steps):
        dist.all_reduce(value)
    if rank == 0:
        print("value", float(value).hex(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    for steps in (10, 7):
        with tempfile.TemporaryDirectory() as directory:
            multiprocessing.start_processes(rank_main, args=(os.path.join(directory, "meet"), steps), nprocs=2,
                                            start_method=sys.argv[1])
    sys.exit(3)
