# SPDX-License-Identifier: Apache-2.0
"""Sums Python objects over all ranks again and again, for cases_messages.py: mpi4py takes a new tag for each sum."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
for round_number in range(int(sys.argv[1])):
    total = world.allreduce([round_number])
    if total != [round_number] * world.size:
        sys.exit("round %d: %s" % (round_number, total))
print("rank %d has all sums" % world.rank)
