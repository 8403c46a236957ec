# SPDX-License-Identifier: Apache-2.0
"""Captures many stacks while one thread constantly takes and releases the GIL and another one allocates.

Every recorded stack must equal the stack that Python reports."""
import os
import struct
import sys
import threading
import time

import expect
import mpi

CALLS = int(os.environ.get("ROLLCALL_TEST_CALLS", "20000"))
MULTIPLE = 3
expect.start(MULTIPLE)
stop = False
failures = []


def churn():
    while not stop:
        time.sleep(0)


def allocate():
    while not stop:
        kept = [bytearray(100) for _ in range(50)]
        exec("def f(x):\n  return [y for y in x]\nf([1])")
        del kept


class Site:
    """One call site."""

    def __init__(self):
        self.path = None

    def check(self):
        tid = threading.get_native_id()
        (path,) = struct.unpack_from("<I", expect.the_ring.last_record(tid), 96)
        if path == 0:
            raise AssertionError("no path")
        if path != self.path:
            # The native frames and the instruction can change when the interpreter specializes a frequent call;
            # the Python stack must stay the same.
            expect.compare(2)
            self.path = path


def recurse(depth, site):
    if depth > 0:
        return recurse(depth - 1, site)
    mpi.barrier(); site.check()  # noqa: E702: compare() requires the line of the call


def generate(depth, site):
    if depth > 0:
        yield from generate(depth - 1, site)
        return
    while True:
        mpi.barrier(); site.check()  # noqa: E702
        yield


def calls(count):
    try:
        sites = [Site() for _ in range(5)]
        generator = generate(5, sites[0])
        for i in range(count // 10):
            for _ in range(4):
                next(generator)
            for _ in range(3):
                recurse(8, sites[1])
            recurse(30, sites[2])
            recurse(0, sites[3])
            recurse(500 if i % 16 == 0 else 70, sites[4])
        mpi.barrier(); expect.compare()  # noqa: E702
    except BaseException as error:  # noqa: B902
        failures.append(repr(error))


sys.setrecursionlimit(2000)
sys.setswitchinterval(1e-5)
helpers = [threading.Thread(target=churn), threading.Thread(target=allocate)]
for thread in helpers:
    thread.start()
workers = [threading.Thread(target=calls, args=(CALLS // 4,)) for _ in range(2)]
for thread in workers:
    thread.start()
calls(CALLS // 2)
for thread in workers:
    thread.join()
stop = True
for thread in helpers:
    thread.join()
assert not failures, failures
header = expect.the_ring.header()
assert header[1:] == ("on", 0, 0), header
mpi.finalize()
print("ok")
