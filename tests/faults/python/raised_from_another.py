# A file is missing on rank 2, whose handler raises another exception. The same exception is caught on rank 0,
# which continues.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uncaught-exception culprits=2 waiting=0,1 op=MPI_Allreduce seq=2
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD


def read(name):
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise RuntimeError("no shard for rank %d" % comm.rank) from error  # @culprit


comm.Barrier()
try:
    if comm.rank == 0:
        read("/no/such/shard")
except RuntimeError:
    pass
if FAULT and comm.rank == 2:
    read("/no/such/shard")
mine, total = doubles(comm.rank), doubles(0)
comm.Allreduce(mine, total)  # @waiting
report(comm, "total", total[0])
