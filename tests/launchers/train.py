# SPDX-License-Identifier: Apache-2.0
"""A training loop for torchrun: Gloo for one reduction, and NCCL through ctypes, as vLLM's workers use it, for another.

FAULT in the environment says what rank 1 does before the fourth step: skip (it omits NCCL's reduction), raise, or kill.
"""

import ctypes
import os
import signal
import sys
import uuid

import torch
import torch.distributed as dist

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "tests/nccl_sim/bindings"))

from ctypes_job import Nccl, UniqueId  # noqa: E402

STEPS = 6
AT = 3

signal.alarm(120)  # no worker outlives the test that started it
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
name = [uuid.uuid4().hex]
dist.broadcast_object_list(name)
unique_id = UniqueId()
unique_id.internal[:len(name[0])] = list(name[0].encode())
nccl = Nccl(os.path.join(HERE, "nccl_sim/libnccl.so.2"), os.path.join(HERE, "nccl_sim/libcudart.so.12"))
nccl.init(size, unique_id, rank)
buffer = (ctypes.c_float * 4)(1, 1, 1, 1)


def train(step, fault):
    if fault == "raise":
        raise ValueError("sample %d is damaged" % step)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault != "skip":
        nccl.all_reduce(buffer)
    nccl.wait()
    dist.all_reduce(torch.ones(4))


for number in range(STEPS):
    train(number, os.environ.get("FAULT") if rank == 1 and number == AT else None)
print("trained", flush=True)
