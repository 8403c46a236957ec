# SPDX-License-Identifier: Apache-2.0
# The tasks of an executor call a collective of COMM_WORLD, which rank 0, the master in executor.map(), never calls.
#
# report: mpi4py/mpi4py#226, mpi4py/mpi4py#223
# job: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective culprits=0|1-3|none
import sys

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor

CONTROL = "--control" in sys.argv


def simulate(x):
    y = x * x
    if CONTROL:
        return y
    # normalise over "all processes"
    total = MPI.COMM_WORLD.allreduce(y)
    return y / total


def main():
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            print(list(executor.map(simulate, range(1, 7))))


main()
