# SPDX-License-Identifier: Apache-2.0
# Ranks 0-2 raise in fit_bundle(), catch it in main(), have skipped the Barrier of run() and are in gather. Rank 3, a
# spare rank, waits in the Barrier and did nothing wrong.
#
# report: desihub/desispec#2209
# job: ranks=4 outcome=hung
# expect: kind=rank-conditional-collective|uncaught-exception culprits=0-2|none
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.rank
CONTROL = "--control" in sys.argv


class Schedule:
    def __init__(self, comm, group_size):
        self.comm = comm
        self.in_group = comm.rank < group_size
        self.group = comm.Split(0 if self.in_group else MPI.UNDEFINED, comm.rank)

    def fit_bundle(self, job):
        ok = self.group.allreduce(0 if (job == 2 and not CONTROL) else 1, op=MPI.MIN)
        if not ok:
            raise RuntimeError(f"PSF fit of job {job} failed")
        return job * 2

    def run(self, jobs):
        results = []
        if self.in_group:
            for job in jobs:
                results.append(self.fit_bundle(job))
        # extra ranks wait here until the group is done
        self.comm.Barrier()
        return results


def main():
    schedule = Schedule(comm, 3)
    try:
        return schedule.run(range(4))
    except RuntimeError as e:
        print(f"rank {rank}: {e}", file=sys.stderr, flush=True)
        return None


results = main()
everything = comm.gather(results, root=0)
if rank == 0:
    print(everything)
