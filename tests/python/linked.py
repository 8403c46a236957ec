# SPDX-License-Identifier: Apache-2.0
"""mpi4py calls MPI with the GIL held when it is imported, so the shim checks the interpreter before the first
line of user code runs. Skipped for interpreters without mpi4py."""
import sys
import threading

try:
    from mpi4py import MPI
except ImportError:
    print("skipped: no mpi4py")
    sys.exit(77)

import ring

the_ring = ring.Ring()
version, state, off, unreadable = the_ring.header()
assert (version, state, off, unreadable) == (sys.hexversion, "on", 0, 0), (state, off, unreadable)


def work():
    MPI.COMM_WORLD.Barrier()


def loop():
    for _ in range(2):
        work()


loop()
path, context = the_ring.last(threading.get_native_id())
assert path.end == "complete" and context is None
assert [frame.name for frame in path.frames] == ["work", "loop", "<module>"]
print("ok")
