# SPDX-License-Identifier: Apache-2.0
# Python's garbage collector runs in solve() on rank 1 alone, and Field.__del__ calls the collective MPI_Win_free. The
# others are in Allreduce.
#
# report: firedrakeproject/firedrake#2693, tlm-adjoint/tlm_adjoint#204
# job: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective|collective-mismatch culprits=1
# says: __del__
# says not: call MPI_Win_free on every rank
import gc
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
gc.disable()
gc.collect()
gc.enable()
gc.set_threshold(2000, 1, 1)


class Field:
    """A distributed vector. It is part of a reference cycle, like most objects of a finite element code."""

    def __init__(self, n):
        self.win = MPI.Win.Allocate(8 * n, 8, comm=comm)
        self.space = {"field": self}

    def fill(self, x):
        np.frombuffer(self.win.tomemory(), dtype="d")[:] = x

    def __del__(self):
        self.win.Free()  # @culprit


def assemble(elements):
    # a Python object for each element
    return [[e, e + 1] for e in range(elements)]


def solve(iterations):
    residual = 1.0
    for it in range(iterations):
        mine = 10 if comm.rank != 1 else 1000      # the partition of rank 1 is larger
        rows = assemble(mine)
        local = np.array([residual / (len(rows) + it + 1)])
        total = np.zeros(1)
        comm.Allreduce(local, total)
        residual = float(total[0])
    return residual


if "--control" in sys.argv:
    gc.disable()
f = Field(8)
f.fill(1.0)
if "--control" in sys.argv:
    del f
    gc.collect()
else:
    f = None                # garbage now, but not yet collected
r = solve(30)
gc.collect()
if comm.rank == 0:
    print("residual", r)
