# Rank 0 skips a barrier in one step. The variable that the condition tests is still in the frame of exchange(), and so
# is the one that the variable came from.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=MPI_Barrier seq=7
# expect+: certainty=proven values=skip:True/False,done:9/4
from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD


def exchange(step):
    total = doubles(0)
    done = 9 if FAULT and comm.rank == 0 and step == 3 else step + 1
    skip = done > 5
    if not skip:
        comm.Barrier()  # @waiting
    comm.Allreduce(doubles(1), total)  # @culprit
    return total[0]


for turn in range(5):
    last = exchange(turn)
comm.Barrier()
report(comm, "last", last)
