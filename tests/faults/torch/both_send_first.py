# Two neighbours exchange their borders, and both send first: a send of Gloo waits for its receive.
#
# rollcall-test: ranks=2 outcome=hung
# expect: kind=p2p-deadlock culprits=any waiting=any op=any seq=any certainty=likely
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

border, other = torch.full((100000,), float(RANK)), torch.zeros(100000)
peer = 1 - RANK
if FAULT or RANK == 0:
    dist.send(border, dst=peer)  # @culprit
    dist.recv(other, src=peer)
else:
    dist.recv(other, src=peer)
    dist.send(border, dst=peer)
dist.barrier()
report("border", other[0])
