# Rank 0's list of files has another length than that of the others.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uneven-iterations culprits=0 waiting=1,2 op=MPI_Allreduce seq=3
# expect+: certainty=proven values=files:2/3
import os
import sys

from support import FAULT, MPI, doubles, report

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../cli/python"))
import rollcall  # noqa: E402

comm = MPI.COMM_WORLD


def files():
    names = ["a", "b"] if FAULT and comm.rank == 0 else ["a", "b", "c"]
    rollcall.value("files", len(names))
    rollcall.value("settings", "equal on all ranks")
    rollcall.value("scale", 0.5)
    return names


def convert():
    total = doubles(0)
    for name in files():
        comm.Allreduce(doubles(len(name)), total)  # @waiting


convert()
comm.Barrier()  # @culprit
report(comm, "done", 5)
