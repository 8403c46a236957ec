# SPDX-License-Identifier: Apache-2.0
"""gap_clock.c in Python: gap_clock.py FILE."""

import mmap
import signal
import sys
import time

FRAMES = 32


def read(shared):
    clock = time.monotonic_ns
    last = clock()
    while True:
        now = clock()
        if now - last > shared[0]:
            shared[0] = now - last
        last = now
        shared[1] += 1


def below(frames, shared):
    if frames == 0:
        read(shared)
    else:
        below(frames - 1, shared)


if __name__ == "__main__":
    signal.alarm(1200)
    with open(sys.argv[1], "r+b") as file:
        below(FRAMES, memoryview(mmap.mmap(file.fileno(), 16)).cast("Q"))
