# SPDX-License-Identifier: Apache-2.0
# A monitoring thread calls a barrier of a C library through ctypes.PyDLL, which keeps the GIL. On rank 2 it starts before
# the step: the main thread never reaches the reduction in which the others wait.
#
# job: ranks=3 outcome=hung
# expect: kind=rank-stalled|rank-conditional-collective|order-inversion culprits=2
# says: GIL|MPI_Barrier
import ctypes
import sys
import threading
import time

from mpi4py import MPI

assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
CONTROL = "--control" in sys.argv
world = MPI.COMM_WORLD
monitors = world.Dup()
rank = world.rank
library = (ctypes.CDLL if CONTROL else ctypes.PyDLL)(None)
library.MPI_Barrier.argtypes = [ctypes.c_void_p]


def monitor():
    handle = ctypes.c_void_p.from_address(MPI._addressof(monitors))
    library.MPI_Barrier(handle)


def step(x):
    time.sleep(0.2)
    return world.allreduce(x)


thread = threading.Thread(target=monitor)
if rank == 2:
    thread.start()
total = step(rank)
if rank != 2:
    thread.start()
thread.join()
print(rank, total)
