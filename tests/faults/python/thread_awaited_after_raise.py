# Rank 1 raises while another thread of it waits for work. The interpreter joins that thread, which never ends,
# before it runs the atexit functions, and does not reach MPI_Finalize.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uncaught-exception culprits=1 waiting=0,2 op=MPI_Allreduce seq=4
# expect+: certainty=likely,proven
from support import FAULT, MPI, doubles, report
import queue
import threading

comm = MPI.COMM_WORLD
work = queue.Queue()
worker = threading.Thread(target=work.get)
worker.start()


def load(rank, batch):
    if FAULT and rank == 1 and batch == 3:
        raise ValueError("sample %d is bad" % batch)  # @culprit
    return doubles(batch)


total = doubles(0)
for step in range(6):
    comm.Allreduce(load(comm.rank, step), total)  # @waiting
work.put(None)
worker.join()
report(comm, "total", total[0])
