# A bad sample raises an uncaught exception on rank 1: Python's exit waits in MPI_Finalize, the other ranks in
# the loop.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uncaught-exception culprits=1 waiting=0,2 op=MPI_Allreduce seq=4
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report


class BadSample(ValueError):
    pass


def load(rank, batch):
    if FAULT and rank == 1 and batch == 3:
        raise BadSample("sample %d is bad\nit has no label" % batch)  # @culprit
    return doubles(batch)


comm = MPI.COMM_WORLD
total = doubles(0)
for step in range(6):
    comm.Allreduce(load(comm.rank, step), total)  # @waiting
report(comm, "total", total[0])
