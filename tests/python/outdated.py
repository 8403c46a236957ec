# SPDX-License-Identifier: Apache-2.0
"""Interpreters with an unknown layout (here 3.7 and older), and ROLLCALL_PYTHON=0: native stacks are still
recorded, and one line gives the reason for missing Python frames, unless ROLLCALL_PYTHON=0 requests it."""
import os
import sys

import mpi
import ring

asked = os.environ.get("ROLLCALL_PYTHON") == "0"
mpi.init()
mpi.barrier()
mpi.barrier()
the_ring = ring.Ring()
path, _ = the_ring.last(os.getpid())
assert path.end == "off" and not path.frames and len(path.native) > 2, path.end
version, state, off, _ = the_ring.header()
assert (state, off) == ("off", 1 if asked else 2), (state, off)
assert version == (0 if asked else sys.hexversion)
mpi.finalize()
print("ok")
