# All ranks report every sixth batch; rank 2's loader yields 13 batches, the others' 14.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=2 waiting=0,1 op=MPI_Allreduce seq=16
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD
total = doubles(0)
last = doubles(*[0] * comm.size)
for batch in range(13 if FAULT and comm.rank == 2 else 14):
    comm.Allreduce(doubles(batch), total)  # @waiting
    if batch % 6 == 5:
        comm.Gather(total, last, root=0)
comm.Barrier()  # @culprit
report(comm, "total", total[0])
