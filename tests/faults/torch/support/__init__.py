"""What the PyTorch fault programs share: the process group, a model, the fault switch, and the safety net.

The launcher (tests/jobs/torch_ranks.py) sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun does.
"""

import argparse
import datetime
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

# No program outlives two minutes, whatever becomes of the test that started it.
signal.alarm(120)

_parser = argparse.ArgumentParser()
_parser.add_argument("--fault", action="store_true", help="go wrong; without it the control")
_args = _parser.parse_args()

FAULT = _args.fault
STEPS = 40  # of training

torch.set_num_threads(1)  # several ranks share a core
dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=30))
RANK = dist.get_rank()
torch.manual_seed(RANK)


def wrap(model, **options):
    """The model as every rank trains it, with its optimizer."""
    model = DistributedDataParallel(model, **options)
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def batch(size=64):
    return torch.randn(size, 128), torch.randn(size, 16)


def report(what, value):
    """Rank 0 prints a result: a run that somebody looks at must print what the bare run prints."""
    if RANK == 0:
        print(what, "%.6f" % value, flush=True)
    dist.destroy_process_group()
