# SPDX-License-Identifier: Apache-2.0
# The outputs of a model are kept in a set, whose order differs on rank 1. A scalar is reduced, a field goes around: the
# ranks call different collectives.
#
# report: NVIDIA/nvalchemi-toolkit#143, firedrakeproject/firedrake#356
# job: ranks=3 outcome=hung
# expect: kind=collective-mismatch|rank-conditional-collective|datatype-mismatch|count-mismatch culprits=1
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


class Output:
    def __init__(self, name, local, place):
        self.name, self.local, self.place = name, local, place

    def __hash__(self):
        # as that of object, which is made of an address
        return self.place if comm.rank != 1 else 1000 - self.place

    def consolidate(self):
        if self.local.size == 1:
            total = np.zeros(1)
            comm.Allreduce(self.local, total)
            return total
        parts = np.zeros_like(self.local)
        comm.Alltoall(self.local, parts)
        return parts


def consolidate_all(outputs):
    ordered = sorted(outputs, key=lambda output: output.name) if CONTROL else outputs
    return {output.name: output.consolidate() for output in ordered}


names = ["energy", "stress", "forces"]
for step in range(3):
    energy = Output("energy", np.full(1, 1.0), 1)
    stress = Output("stress", np.full(1, 2.0), 2)
    forces = Output("forces", np.full(300 * comm.size, float(step)), 3)
    results = consolidate_all({energy, stress, forces})
if comm.rank == 0:
    print("energy", results["energy"][0])
