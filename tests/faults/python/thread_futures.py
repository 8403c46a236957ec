# Workers of a concurrent.futures pool call MPI: some receive, some compute before they send. The main
# thread waits for their results.
#
# rollcall-test: ranks=2
# expect: none
import concurrent.futures
import time

from support import MPI, QUIET_S, report

comm = MPI.COMM_WORLD
other = 1 - comm.rank


def exchange(task):
    # The ranks alternate in being late.
    if task % 2 == comm.rank:
        time.sleep(QUIET_S)
        comm.send(task, dest=other, tag=task)
        return comm.recv(source=other, tag=task)
    got = comm.recv(source=other, tag=task)
    comm.send(task + 1, dest=other, tag=task)
    return got


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = list(pool.map(exchange, range(2)))
report(comm, "results", results)
