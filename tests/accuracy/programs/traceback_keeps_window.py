# SPDX-License-Identifier: Apache-2.0
# Rank 1 keeps a caught exception, whose traceback keeps the frame and with it the window alive. The others drop the
# window and wait in its collective free.
#
# job: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective culprits=1
# says: __del__
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


class Halo:
    def __init__(self, n):
        self.win = MPI.Win.Allocate(8 * n, 8, comm=comm)

    def __del__(self):
        self.win.Free()                 # @waiting


def iterate(step):
    halo = Halo(10)
    ones = np.ones(1)
    halo.win.Fence()
    halo.win.Put(ones, (comm.rank + 1) % comm.size)
    halo.win.Fence()
    if step == 2 and comm.rank == 1:
        raise ArithmeticError("step %d did not converge" % step)


problems = []
for step in range(4):
    try:
        iterate(step)
    except ArithmeticError as e:
        problems.append(str(e) if CONTROL else e)
    failed = comm.allreduce(len(problems))
if comm.rank == 0:
    print("failed", failed)
