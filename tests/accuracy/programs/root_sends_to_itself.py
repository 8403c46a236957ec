# SPDX-License-Identifier: Apache-2.0
# Rank 0 distributes the lattice to all ranks, itself included, before it receives its own part.
#
# report: Chengcheng-Xiao/mpiPyMC#2
# job: ranks=3 outcome=hung
# expect: kind=p2p-unmatched|p2p-deadlock culprits=0
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


def distribute(lattice):
    if comm.rank == 0:
        for dest in range(1 if CONTROL else 0, comm.size):
            comm.send(lattice, dest=dest, tag=dest)
    if comm.rank == 0 and CONTROL:
        return lattice
    return comm.recv(source=0, tag=comm.rank)


lattice = np.ones((400, 400)) if comm.rank == 0 else None
for sweep in range(2):
    mine = distribute(lattice)
    energies = comm.gather(float(mine.sum()), root=0)
if comm.rank == 0:
    print(sum(energies))
