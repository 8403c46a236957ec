# Rank 0 scatters the learning rates; the others take theirs from the configuration.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=any op=any seq=any certainty=proven,likely
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

rate = torch.zeros(1)
dist.all_reduce(rate)


def distribute():
    rates = [torch.full((1,), 0.1 * rank) for rank in range(dist.get_world_size())]
    dist.scatter(rate, rates if RANK == 0 else None, src=0)  # @culprit


if RANK == 0 or not FAULT:
    distribute()
dist.barrier()  # @waiting
report("rate", rate)
