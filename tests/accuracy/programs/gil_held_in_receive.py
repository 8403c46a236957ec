# SPDX-License-Identifier: Apache-2.0
# Rank 1 receives its parameters in a C library that was loaded by ctypes.PyDLL, and keeps the GIL. Its other thread, which
# was to send the request for them, never runs.
#
# job: ranks=2 outcome=hung
# expect: kind=rank-stalled|p2p-unmatched|p2p-deadlock culprits=1|0,1
# says: MPI_Recv
import ctypes
import sys
import threading
import time

from mpi4py import MPI

assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
CONTROL = "--control" in sys.argv
world = MPI.COMM_WORLD
rank = world.rank
library = (ctypes.CDLL if CONTROL else ctypes.PyDLL)(None)


def address(handle):
    return ctypes.c_void_p.from_address(MPI._addressof(handle))


def receive():
    buffer = ctypes.c_double()
    library.MPI_Recv(ctypes.byref(buffer), ctypes.c_int(1), address(MPI.DOUBLE), ctypes.c_int(0), ctypes.c_int(7),
                     address(world), ctypes.c_void_p(0))
    return buffer.value


def request():
    time.sleep(0.5)
    world.send("parameters", dest=0, tag=6)


if rank == 1:
    thread = threading.Thread(target=request)
    thread.start()
    print(receive())
    thread.join()
else:
    world.recv(source=1, tag=6)
    world.Send([bytearray(8), MPI.DOUBLE], dest=1, tag=7)
