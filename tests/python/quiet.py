# SPDX-License-Identifier: Apache-2.0
"""The capture of a stack that was recorded before makes no system call."""
import os
import sys

import expect
import mpi

expect.start()


def recurse(depth, *arguments):
    if depth > 0:
        return recurse(depth - 1, *arguments)
    return mpi.helper.quiet_barriers(mpi.BARRIER, mpi.SELF, *arguments)


def generate(*arguments):
    yield recurse(5, *arguments)


DETECT, MAKE_ONE, JUST_CALL = 0, 1, 2
made = recurse(0, 0, MAKE_ONE)
if made == -1:
    print("skipped: no Syscall User Dispatch")
    sys.exit(77)
assert made != 0, "the detector sees nothing"
# Each from one call site: the first round records the stack, later rounds repeat it. Up to 3.10 each frame is an
# object of its own, which may lie on a page that was not read before; one round without system calls is enough.
ROUNDS = [JUST_CALL] + [DETECT] * 5
for depth in (3, 10, 100):
    results = [recurse(depth, 1000, how) for how in ROUNDS]
    assert 0 in results[1:], (depth, results)
results = [next(generate(1000, how)) for how in ROUNDS]
assert 0 in results[1:], results
path, _ = expect.the_ring.last(os.getpid())
assert path.end == "complete" and "generate" in [frame.name for frame in path.frames]
mpi.finalize()
print("ok")
