"""A sub-interpreter calls MPI. To 3.11 the thread's state is found by a key that knows the main interpreter's
only: the stack must be unreadable then, not the main interpreter's. From 3.12 on it is its own."""
import os
import sys
import threading

import expect
import mpi

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

expect.start()
SCRIPT = """
import sys
sys.path.insert(0, %r)
import mpi
def inside():
    mpi.barrier()
inside()
""" % os.path.dirname(os.path.abspath(__file__))


def run():
    if sys.version_info >= (3, 13):
        interpreter = interpreters.create("legacy")
        error = interpreters.exec(interpreter, SCRIPT)
        assert error is None, error
    else:
        interpreter = (interpreters.create(isolated=False) if sys.version_info >= (3, 9)
                       else interpreters.create())
        interpreters.run_string(interpreter, SCRIPT)
    path, _ = expect.the_ring.last(threading.get_native_id())
    if sys.version_info >= (3, 12):
        assert path.end == "complete", path.end
        names = [frame.name for frame in path.frames]
        assert names[:3] == ["barrier", "inside", "<module>"], names
    else:
        assert path.end == "unreadable" and not path.frames, path.end
    # The main interpreter meanwhile.
    mpi.barrier(); expect.compare()  # noqa: E702
    interpreters.destroy(interpreter)
    mpi.barrier(); expect.compare()  # noqa: E702


run()
assert expect.the_ring.header()[1:3] == ("on", 0)
mpi.finalize()
print("ok")
