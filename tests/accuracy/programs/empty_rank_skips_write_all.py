# SPDX-License-Identifier: Apache-2.0
# A collective write is elided on rank 3, which has no rows in the last step. The others wait in Write_at_all.
#
# report: h5py/h5py#965
# job: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective culprits=3
import os
import sys
import tempfile

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


class Dataset:
    def __init__(self, path):
        self.file = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_WRONLY | MPI.MODE_DELETE_ON_CLOSE)
        self.end = 0

    def append(self, rows):
        sizes = comm.allgather(rows.size)
        offset = 8 * (self.end + sum(sizes[:comm.rank]))
        self.end += sum(sizes)
        if rows.size == 0 and not CONTROL:
            return                      # nothing selected, nothing to write
        self.file.Write_at_all(offset, rows)

    def close(self):
        self.file.Close()


def particles(step):
    n = 100 * (comm.rank + 1)
    if step == 2 and comm.rank == 3:
        n = 0                           # all have left this part of the domain
    return np.full(n, float(step))


name = comm.bcast(tempfile.mktemp(prefix="particles-", dir=os.getcwd()) if comm.rank == 0 else None)
data = Dataset(name)
total = 0
for step in range(4):
    mine = particles(step)
    data.append(mine)
    total += comm.allreduce(mine.size)
data.close()
if comm.rank == 0:
    print("written", total, os.path.exists(name))
