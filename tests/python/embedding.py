# SPDX-License-Identifier: Apache-2.0
"""Runs embedding.c with this interpreter's libpython and checks the ring that it leaves."""
import os
import subprocess
import sys
import sysconfig

import ring

library = os.path.join(sysconfig.get_config_var("LIBDIR") or "",
                       sysconfig.get_config_var("INSTSONAME") or "")
if not os.path.isfile(library) or ".so" not in library:
    print("skipped: this interpreter has no shared library")
    sys.exit(77)
process = subprocess.Popen([os.environ["ROLLCALL_TEST_EMBEDDING"], library],
                           env=dict(os.environ, PYTHONHOME=sys.base_prefix))
assert process.wait() == 0, process.returncode
left = ring.Ring(process.pid)
BARRIER = 20
seen = []
for operation, path, context in left.records(process.pid):
    if operation == BARRIER:
        seen.append((path.end, [frame.name for frame in path.frames]))
inside = ("complete", ["inside", "outside", "<module>"])
assert seen == [
    ("none", []),        # Python is not loaded yet
    ("none", []),        # the shim detects the interpreter in this call's native stack
    inside, inside,      # the GIL is held: checked at once
    ("no frames", []),
    ("unreadable", []),  # the shim has detected Py_FinalizeEx
    ("unchecked", []),   # Python is initialised again
    inside, inside,
    ("no frames", []),
    ("unreadable", []),
    ("off", []),
], seen
version, state, off, _ = left.header()
assert (version, state, off) == (sys.hexversion, "off", 5)
print("ok")
