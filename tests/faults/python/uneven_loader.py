# Rank 2's data loader yields one batch less, so that it reaches the last gather early.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=2 waiting=0,1 op=MPI_Allreduce seq=5
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report


def loader(rank):
    for batch in range(4 if FAULT and rank == 2 else 5):
        yield doubles(batch)


comm = MPI.COMM_WORLD
total = doubles(0)
for batch in loader(comm.rank):
    comm.Allreduce(batch, total)  # @waiting
last = doubles(*[0] * comm.size)
comm.Gather(total, last, root=0)  # @culprit
comm.Barrier()
report(comm, "total", total[0])
