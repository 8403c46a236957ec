# Code that is in no file, as in a notebook: rank 1's generator is closed before its last reduction. The line
# number is recorded; there is no source line to show.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=1 waiting=0,2 op=MPI_Allreduce seq=4
# expect+: certainty=proven lines=none function@waiting=reduced function@culprit=train
from support import FAULT, MPI, doubles, report

CELL = """
def reduced(batches):
    for batch in batches:
        total = doubles(0)
        comm.Allreduce(batch, total)
        yield total[0]

def train(limit):
    totals = [total for total, _ in zip(reduced(map(doubles, range(5))), range(limit))]
    comm.Barrier()
    return len(totals)
"""

comm = MPI.COMM_WORLD
cell = {"comm": comm, "doubles": doubles}
exec(compile(CELL, "<ipython-input-3-c0ffee>", "exec"), cell)
report(comm, "batches", cell["train"](2 if FAULT and comm.rank == 1 else 4) > 0)
