# Every rank broadcasts from itself: the root is its own rank instead of 0.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=root-mismatch culprits=none waiting=any op=any seq=any certainty=proven lines=none
import torch
import torch.distributed as dist
from support import FAULT, RANK, report

value = torch.full((4,), float(RANK))
dist.barrier()
dist.broadcast(value, src=RANK if FAULT else 0)
dist.barrier()
report("value", value[0])
