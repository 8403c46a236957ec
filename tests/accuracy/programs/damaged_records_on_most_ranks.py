# SPDX-License-Identifier: Apache-2.0
# Ranks 1-3 find a damaged record in count_events(), which main() catches: they skip its reduction and are in the one
# of the summary. Rank 0, whose part is good, waits in count_events().
#
# job: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective|uneven-iterations culprits=1-3|none
# says: count_events|read_record
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


def read_record(part, number):
    if part == 2 and number == 3 and comm.rank != 0 and not CONTROL:
        raise ValueError("record %d of part %d is damaged" % (number, part))
    return float(number)


def count_events(part):
    mine = np.zeros(1)
    for number in range(5):
        mine[0] += read_record(part, number)
    total = np.zeros(1)
    comm.Allreduce(mine, total)
    return total[0]


def main():
    events, bad = 0.0, 0
    for part in range(4):
        try:
            events += count_events(part)
        except ValueError as e:
            print("rank %d skips a part: %s" % (comm.rank, e), file=sys.stderr)
            bad += 1
            break
    worst = comm.reduce(bad, op=MPI.MAX, root=0)  # @culprit
    if comm.rank == 0:
        print("events", events, "bad", worst)


main()
