# Rank 1 waits for its data-loading thread, which never puts a batch into the queue.
#
# rollcall-test: ranks=3 outcome=hung stall-after=3
# expect: kind=rank-stalled culprits=1 waiting=0,2 op=MPI_Allreduce seq=3
# expect+: certainty=likely analyze-certainty=likely,suspected
import queue
import threading

from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD
batches = queue.Queue()
never = threading.Event()


def load():
    for batch in range(4):
        if FAULT and comm.rank == 1 and batch == 2:
            never.wait()
        batches.put(doubles(batch))


threading.Thread(target=load, daemon=True).start()
total = doubles(0)
for step in range(4):
    batch = batches.get()  # @culprit
    comm.Allreduce(batch, total)  # @waiting
report(comm, "total", total[0])
