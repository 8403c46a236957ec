# Two ranks receive before they send, beside a daemon thread that wakes twice a second and never calls
# MPI, as progress bars and loggers have. mpi4py asks for MPI_THREAD_MULTIPLE.
#
# rollcall-test: ranks=2 outcome=hung stall-after=300 kill=yes
# expect: kind=p2p-deadlock culprits=0,1 waiting=none op=any seq=any
# expect+: certainty=suspected,likely lines=culprit
import threading

from support import FAULT, MPI, report

comm = MPI.COMM_WORLD
other = 1 - comm.rank
stop = threading.Event()


def monitor():
    while not stop.wait(0.5):
        pass


threading.Thread(target=monitor, daemon=True).start()
comm.Barrier()
if not FAULT:
    comm.send(comm.rank, dest=other, tag=1)
got = comm.recv(source=other, tag=1)  # @culprit
if FAULT:
    comm.send(comm.rank, dest=other, tag=1)
stop.set()
report(comm, "got", got)
