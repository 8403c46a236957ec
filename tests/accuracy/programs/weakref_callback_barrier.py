# SPDX-License-Identifier: Apache-2.0
# A cache closes what it evicts by a weakref callback, which has a barrier. On rank 2 the cache is smaller, so that the
# callback runs between two reductions of the others.
#
# job: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective|collective-mismatch culprits=2
# says: close_shared
import collections
import sys
import weakref

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


def close_shared(name):
    comm.Barrier()                      # nobody may still read it  @culprit
    if comm.rank == 0:
        print("closed", name)


class Table:
    def __init__(self, name):
        self.values = np.ones(100)
        weakref.finalize(self, close_shared, name)


class Cache(collections.OrderedDict):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def get_table(self, name):
        if name not in self:
            self[name] = Table(name)
            if len(self) > self.size:
                self.popitem(last=False)
        return self[name]


def energy(cache, step):
    table = cache.get_table("table-%d" % step)
    local, total = table.values[:1] * step, np.zeros(1)
    comm.Allreduce(local, total)
    return total[0]


tables = Cache(2 if comm.rank == 2 and not CONTROL else 3)
result = sum(energy(tables, step) for step in range(5))
if comm.rank == 0:
    print(result)
