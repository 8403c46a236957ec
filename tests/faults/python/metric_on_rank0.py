# Every third step only rank 0 reduces a metric to log it. The operation and its arguments are those of the
# gradients, so that it matches the gradient reductions of the others until the last step.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=MPI_Allreduce seq=4
# expect+: certainty=proven,likely function@culprit=metric
import functools

from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD


def every(steps):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(step):
            return function(step) if step % steps == steps - 1 else None
        return wrapper
    return decorate


@every(3)
def metric(step):
    mean = doubles(0)
    comm.Allreduce(doubles(step), mean)  # @culprit
    return mean[0] / comm.size


def train(steps):
    gradient = doubles(0)
    for step in range(steps):
        comm.Allreduce(doubles(step), gradient)  # @waiting
        if not FAULT or comm.rank == 0:
            metric(step)


train(5)
last = doubles(0)
comm.Barrier()
report(comm, "done", 5)
