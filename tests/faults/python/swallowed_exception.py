# A bad batch raises on rank 1; the handler returns early and skips the reduction in which the others wait.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=MPI_Allreduce seq=6
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD


def parse(text):
    return float(text)


def step(text, total):
    try:
        value = parse(text)
    except ValueError:
        return
    comm.Allreduce(doubles(value), total)  # @waiting


def train():
    total = doubles(0)
    for batch in range(5):
        comm.Bcast(doubles(batch))  # @culprit
        step("nan?" if FAULT and comm.rank == 1 and batch == 2 else "1", total)
    return total[0]


report(comm, "total", train())
