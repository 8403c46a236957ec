"""Code that the PyTorch fault programs share: the process group, a model, the fault switch, and a time limit.

The launcher (tests/jobs/torch_ranks.py) sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun does.
"""

import argparse
import datetime
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

# Every program ends after two minutes, even if the test that started it ended.
signal.alarm(120)

_parser = argparse.ArgumentParser()
_parser.add_argument("--fault", action="store_true", help="go wrong; without it the control")
_args = _parser.parse_args()

FAULT = _args.fault
STEPS = 40  # of training

torch.set_num_threads(1)  # several ranks share a core
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=int(os.environ.get("FAULT_TIMEOUT_S", "1800"))))
RANK = dist.get_rank()
torch.manual_seed(RANK)


def wrap(model, **options):
    """Returns the model as every rank trains it, and its optimizer."""
    model = DistributedDataParallel(model, **options)
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def batch(size=64):
    return torch.randn(size, 128), torch.randn(size, 16)


def report(what, value):
    """Prints a result on rank 0: an observed run must print the same as the bare run."""
    if RANK == 0:
        print(what, "%.6f" % value, flush=True)
    dist.destroy_process_group()
