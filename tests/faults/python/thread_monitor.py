# A monitor thread, as of a progress bar, wakes twice a second. Rank 0's main thread computes for seconds, and
# those of the others wait for its result. Correct: mpi4py asks for MPI_THREAD_MULTIPLE.
#
# rollcall-test: ranks=3
# expect: none
# rollcall-test: name=long ranks=3
# arguments: 12
# expect: none
import threading
import time

from support import MPI, QUIET_S, report

comm = MPI.COMM_WORLD
stop = threading.Event()


def monitor():
    while not stop.wait(0.5):
        pass


threading.Thread(target=monitor, daemon=True).start()
result = 0
if comm.rank == 0:
    until = time.monotonic() + QUIET_S
    while time.monotonic() < until:
        result = sum(range(1000))
    for rank in range(1, comm.size):
        comm.send(result, dest=rank)
else:
    result = comm.recv(source=0)
total = comm.allreduce(result)
stop.set()
report(comm, "total", total)
