# SPDX-License-Identifier: Apache-2.0
# Rank 1 leaves the time loop by its own clock. The others are still in the loop's Sendrecv or allreduce.
#
# report: IAS-Astrophysics/athenak#572, glotzerlab/hoomd-blue#1193
# job: ranks=4 outcome=hung
# expect: kind=uneven-iterations culprits=1
import sys
import time

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
CONTROL = "--control" in sys.argv


class Simulation:
    def __init__(self, n):
        self.u = np.zeros(n + 2)
        self.step = 0

    def exchange_ghosts(self):
        left = rank - 1 if rank > 0 else MPI.PROC_NULL
        right = rank + 1 if rank + 1 < size else MPI.PROC_NULL
        comm.Sendrecv(self.u[1:2], dest=left, sendtag=3, recvbuf=self.u[-1:], source=right, recvtag=3)
        comm.Sendrecv(self.u[-2:-1], dest=right, sendtag=4, recvbuf=self.u[:1], source=left, recvtag=4)

    def run(self, steps):
        for _ in range(steps):
            self.exchange_ghosts()
            self.u[1:-1] += 0.1 * (self.u[:-2] - 2 * self.u[1:-1] + self.u[2:]) + 1
            self.step += 1
        return comm.allreduce(float(self.u.sum()))


def main():
    comm.Barrier()
    start = time.time()
    if rank == 1:
        start -= 0.25          # this node's clock was started earlier
    limit = 1.0
    sim = Simulation(100)
    while sim.step < 100000:
        sim.run(20)
        time.sleep(0.03)
        elapsed = time.time() - start
        if CONTROL:
            elapsed = comm.bcast(elapsed)
        if elapsed >= limit:
            break
    return sim


sim = main()
profiles = comm.gather(sim.u, root=0)
if rank == 0:
    print("stopped at step", sim.step, len(profiles))
