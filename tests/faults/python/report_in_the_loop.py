# Only rank 0 gathers a report every fourth batch, after the batch's reduction, inside the loop.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=MPI_Gather seq=5
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD
total = doubles(0)
last = doubles(*[0] * comm.size)
for batch in range(1, 7):
    comm.Allreduce(doubles(batch), total)  # @waiting
    if batch % 4 == 0 and (comm.rank == 0 or not FAULT):
        comm.Gather(total, last, root=0)  # @culprit
comm.Barrier()
report(comm, "total", total[0])
