# Each rank has a daemon thread that receives the messages of the other rank. The main threads are busy before
# they send: rank 0's computes in the interpreter, rank 1's sleeps.
#
# rollcall-test: ranks=2
# expect: none
# rollcall-test: name=long ranks=2
# arguments: 12
# expect: none
import threading
import time

from support import MPI, QUIET_S, report

comm = MPI.COMM_WORLD
service_comm = comm.Dup()
other = 1 - comm.rank
asked = []


def serve():
    while True:
        question = service_comm.recv(source=MPI.ANY_SOURCE, tag=1)
        if question is None:
            return
        asked.append(question)


service = threading.Thread(target=serve, daemon=True)
service.start()
until = time.monotonic() + QUIET_S
if comm.rank == 1:
    time.sleep(QUIET_S)
while time.monotonic() < until:
    sum(range(1000))
service_comm.send(comm.rank + 5, dest=other, tag=1)
service_comm.send(None, dest=other, tag=1)
service.join()
report(comm, "asked", asked)
