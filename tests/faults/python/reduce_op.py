# Rank 1 reduces with the maximum, the others with the sum: all calls return, with a wrong result.
#
# rollcall-test: ranks=3 outcome=finished
# expect: kind=op-mismatch culprits=1 waiting=none op=MPI_Allreduce seq=2
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD
comm.Barrier()
total = doubles(0)
op = MPI.MAX if FAULT and comm.rank == 1 else MPI.SUM
comm.Allreduce(doubles(comm.rank + 1), total, op)  # @culprit @waiting
comm.Barrier()
report(comm, "total", total[0] > 0)
