# SPDX-License-Identifier: Apache-2.0
"""A small job of torch.distributed on NCCL.

`torch_job.py steps` times steps of a model under DistributedDataParallel, and rank 0 prints the milliseconds of each.
`torch_job.py fault` and `control` reduce in a loop; in the fault the last rank omits one reduction."""

import os
import sys
import time

RANK = int(os.environ["RANK"])
SIZE = int(os.environ["WORLD_SIZE"])
# All ranks share the available GPUs: tests/gpu/real_nccl.h.
for name, value in (("NCCL_HOSTID", "rollcall-%d" % RANK), ("NCCL_MULTI_RANK_GPU_ENABLE", "1"),
                    ("NCCL_SOCKET_IFNAME", "lo"), ("NCCL_IB_DISABLE", "1"), ("NCCL_MNNVL_ENABLE", "0")):
    os.environ.setdefault(name, value)

import torch  # noqa: E402  (after the environment)
import torch.distributed as dist  # noqa: E402


def main():
    mode = sys.argv[1]
    device = torch.device("cuda", RANK % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", init_method="file:///dev/shm/rollcall-gpu-torch-%s"
                            % os.environ["TORCHELASTIC_RUN_ID"], rank=RANK, world_size=SIZE)
    if mode == "steps":
        steps(device)
    else:
        loop(device, mode == "fault")
    dist.destroy_process_group()


def loop(device, fault):
    values = torch.ones(1024, device=device)
    for step in range(5):
        if not (fault and step == 3 and RANK == SIZE - 1):
            dist.all_reduce(values, op=dist.ReduceOp.MAX)
        torch.cuda.synchronize()
    if RANK == 0:
        print("max", values[0].item(), flush=True)


def steps(device):
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).to(device)
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(64, 1024, device=device)
    for step in range(120):
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        if RANK == 0 and step >= 20:
            print("%.4f" % ((time.perf_counter() - begin) * 1e3), flush=True)


main()
