# SPDX-License-Identifier: Apache-2.0
"""Python is finalized before MPI: MPI_Finalize runs from Py_AtExit, after the interpreter is finalized; or a
daemon thread is still in MPI when Python exits. The parent checks the ring of the child."""
import ctypes
import os
import subprocess
import sys
import threading

import ring

MULTIPLE = 3


def child(daemon):
    import expect
    import mpi
    expect.start(MULTIPLE)
    if daemon:
        # The thread never returns to Python, which frees its frames. MPI_Finalize would be erroneous here.
        thread = threading.Thread(target=mpi.helper.barriers_for_ever, args=(mpi.BARRIER, mpi.SELF),
                                  daemon=True)
        thread.start()
    else:
        # Called last, after the interpreter is finalized.
        ctypes.pythonapi.Py_AtExit(ctypes.cast(mpi.lib.MPI_Finalize, ctypes.c_void_p))
    import atexit
    atexit.register(mpi.barrier)  # a Python function, which runs before the Py_AtExit function


if len(sys.argv) > 1:
    child(sys.argv[1] == "daemon")
    sys.exit()

for kind in ("alone", "daemon", "daemon", "daemon"):
    process = subprocess.Popen([sys.executable, __file__, kind])
    assert process.wait() == 0, (kind, process.returncode)
    left = ring.Ring(process.pid)
    version, state, off, unreadable = left.header()
    assert version == sys.hexversion
    # The process may have ended before the daemon thread called again.
    assert (state, off) == ("off", 5) or kind == "daemon", (kind, state, off)
    path, _ = left.last(process.pid)
    if kind == "alone":
        assert path.end in ("off", "unreadable"), path.end
        assert not path.frames and path.native
    else:
        assert path.end == "complete" and path.frames[0].name == "barrier", path.end
    os.unlink(ring.rings_of(process.pid)[0])
print("ok")
