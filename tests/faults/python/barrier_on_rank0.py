# Only rank 0 calls a barrier before it saves; the others continue to the reduction. Both native call paths
# lead through the interpreter's loop: only the Python lines differ.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=MPI_Barrier seq=2
# expect+: certainty=proven function@culprit=save function@waiting=save
from support import FAULT, MPI, doubles, report


def save(comm, value):
    if not FAULT or comm.rank == 0:
        comm.Barrier()  # @culprit
    total = doubles(0)
    comm.Allreduce(doubles(value), total)  # @waiting
    return total[0]


comm = MPI.COMM_WORLD
comm.Bcast(doubles(1))
report(comm, "total", save(comm, comm.rank))
