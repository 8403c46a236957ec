# Callbacks run when a rank's own loss improves; one of them contains a barrier. C code of the interpreter
# (sort with a key, map) is between the Python frames.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=2 waiting=0,1 op=MPI_Barrier seq=3
# expect+: certainty=proven
from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD


class Trainer:
    def __init__(self):
        self.callbacks = []
        self.best = 1e9

    def improved(self, loss):
        better = loss < self.best
        self.best = min(loss, self.best)
        return better

    def epoch(self, loss):
        mean = doubles(0)
        comm.Allreduce(doubles(loss), mean)  # @waiting
        if self.improved(loss if FAULT else mean[0]):
            for _ in map(lambda callback: callback(self), self.callbacks):
                pass


def checkpoint(trainer):
    sorted([trainer], key=lambda _: comm.Barrier())  # @culprit


trainer = Trainer()
trainer.callbacks.append(checkpoint)
trainer.best = 1 if FAULT else 0
trainer.epoch(3)
trainer.epoch(0.5 if FAULT and comm.rank == 2 else 3)
trainer.epoch(3)
report(comm, "epochs", 3)
