# SPDX-License-Identifier: Apache-2.0
# Rank 1 finds an error and calls sys.exit(). An exit handler gathers timings of all ranks; the others are in the loop.
#
# job: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective|collective-mismatch|uncaught-exception culprits=1
# says: report_timings|sys.exit|SystemExit
import atexit
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv
started = time.time()


def report_timings():
    times = comm.gather(time.time() - started, root=0)
    if comm.rank == 0:
        print("timings", len(times))


atexit.register(report_timings)


def read_frame(index):
    if index == 4 and comm.rank == 1 and not CONTROL:
        print("frame %d is damaged" % index, file=sys.stderr)
        sys.exit(1)
    return float(index)


def main():
    total = 0.0
    for index in range(8):
        value = read_frame(index)
        total += comm.allreduce(value, op=MPI.MAX)
        comm.Barrier()
    return total


result = main()
if comm.rank == 0:
    print(result)
