# Rank 0's main thread waits for an event that a timer sets later, and then sends the message that the others
# wait for. A service thread also waits in a receive.
#
# rollcall-test: ranks=2
# expect: none
import threading

from support import MPI, QUIET_S, report

comm = MPI.COMM_WORLD
service_comm = comm.Dup()
served = []
service = threading.Thread(target=lambda: served.append(service_comm.recv(source=1 - comm.rank)))
service.start()
value = None
if comm.rank == 0:
    due = threading.Event()
    threading.Timer(QUIET_S, due.set).start()
    due.wait()
    value = 4
    comm.send(value, dest=1)
else:
    value = comm.recv(source=0)
service_comm.send(value, dest=1 - comm.rank)
service.join()
report(comm, "value", value + served[0])
