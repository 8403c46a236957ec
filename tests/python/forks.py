# SPDX-License-Identifier: Apache-2.0
"""Forks by multiprocessing: children do not write their parent's ring; children and parent continue."""
import multiprocessing
import os
import sys
import threading

import expect
import mpi
import ring


def in_child(queue):
    # A pending call that the shim requested in the parent may run here.
    total = sum(len(str(i)) for i in range(1000))
    queue.put((os.getpid(), total, len(ring.rings_of(os.getpid()))))


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    mpi.init()  # requests the check of the interpreter
    queue = multiprocessing.SimpleQueue()
    children = [multiprocessing.Process(target=in_child, args=(queue,)) for _ in range(2)]
    for process in children:
        process.start()
    for process in children:
        pid, total, rings = queue.get()
        assert (total, rings) == (2890, 0), (total, rings)
        process.join()
        assert process.exitcode == 0
    expect.the_ring = ring.Ring()
    mpi.barrier(); expect.compare()  # noqa: E702
    with multiprocessing.Pool(2) as pool:
        assert pool.map(abs, [-1, 2]) == [1, 2]
    mpi.barrier(); expect.compare()  # noqa: E702
    assert expect.the_ring.header()[1:] == ("on", 0, 0)
    mpi.finalize()
    print("ok")
