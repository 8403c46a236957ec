# SPDX-License-Identifier: Apache-2.0
# Rank 1's worker thread is in MPI_Comm_dup, hidden in the first pickled allreduce of a communicator, and holds the GIL:
# its main thread never reaches the send that rank 0 waits for. So it is with mpi4py 3.1.4 and Open MPI.
#
# report: mpi4py/mpi4py#784
# job: ranks=2 outcome=hung
# expect: kind=rank-stalled|p2p-unmatched culprits=1
# says: GIL|MPI_Comm_dup
import sys
import threading
import time

from mpi4py import MPI

assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
world = MPI.COMM_WORLD
workers = world.Dup()      # for the background statistics
control = world.Dup()      # for the main threads
rank = world.rank

if "--control" in sys.argv:
    workers.allreduce(0)   # creates the hidden communicator early


class Statistics(threading.Thread):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def run(self):
        self.total = workers.allreduce(self.value)


def rank0():
    # is busy for longer, then gets its parameters, and only then starts its statistics
    time.sleep(0.3)
    params = control.recv(source=1, tag=5)
    s = Statistics(params["x"])
    s.start()
    s.join()
    return s.total


def rank1():
    s = Statistics(2)
    s.start()
    time.sleep(1.0)
    control.send({"x": 3}, dest=0, tag=5)
    s.join()
    return s.total


print(rank, rank0() if rank == 0 else rank1())
