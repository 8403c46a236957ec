# SPDX-License-Identifier: Apache-2.0
"""A sub-interpreter calls MPI. Up to 3.11 the shim finds the thread's state by a key that holds only that of the
main interpreter, so the stack must be recorded as unreadable. From 3.12 on it must be the sub-interpreter's."""
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
    # Stacks of the main interpreter must stay readable.
    mpi.barrier(); expect.compare()  # noqa: E702
    interpreters.destroy(interpreter)
    mpi.barrier(); expect.compare()  # noqa: E702


run()
assert expect.the_ring.header()[1:3] == ("on", 0)
mpi.finalize()
print("ok")
