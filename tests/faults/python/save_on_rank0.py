# Only rank 0 writes the checkpoint, whose data are gathered from all ranks: a property contains the
# collective.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=MPI_Allgather seq=4
# expect+: certainty=proven function@culprit=state
from support import FAULT, MPI, doubles, report


class Model:
    def __init__(self, comm):
        self.comm = comm
        self.shard = doubles(comm.rank)

    @property
    def state(self):
        whole = doubles(*[0] * self.comm.size)
        self.comm.Allgather(self.shard, whole)  # @culprit
        return list(whole)

    def step(self):
        total = doubles(0)
        self.comm.Allreduce(self.shard, total)  # @waiting
        self.shard[0] = total[0]


def save(model):
    if FAULT and model.comm.rank != 0:
        return None
    return {name: getattr(model, name) for name in ("state",)}


comm = MPI.COMM_WORLD
model = Model(comm)
for epoch in range(2):
    model.step()
comm.Barrier()
save(model)
model.step()
report(comm, "shard", model.shard[0])
