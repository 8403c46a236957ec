"""mpi4py calls MPI with the GIL held when it is imported: everything is checked before the first line of the
user's runs. Not every interpreter has it."""
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
# The first record of all, that of MPI_Init_thread: from the import on, every frame is there.
print("ok")
