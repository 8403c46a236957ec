# SPDX-License-Identifier: Apache-2.0
"""As members.cc."""
import signal
import sys

signal.alarm(120)

from mpi4py import MPI  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

comm = MPI.COMM_WORLD
first = comm.rank == 0
truth = open("%s/truth.%d" % (sys.argv[1], comm.rank), "w")


def write(function, **values):
    for name, value in values.items():
        if isinstance(value, (list, str)) or numpy and isinstance(value, numpy.ndarray) and value.ndim:
            value = "of length %d" % len(value)
        truth.write("%s %s %s\n" % (function, name.replace("__", "."), value))
    truth.flush()


class Base:
    kind = 1
    hidden = 7

    @property
    def computed(self):
        return first


class Options:
    def __init__(self):
        self.level = 5 if first else 6


class Solver(Base):
    def __init__(self):
        self.done = first
        self.rate = 0.25 if first else 0.5
        self.kind = 2 if first else 3
        self.names = ["a"] * (1 if first else 2)
        self.options = Options()
        self.best = None if first else 4

    def exchange(self, step):
        if step == 2:
            write("Solver.exchange", self__done=self.done, self__rate=self.rate, self__kind=self.kind,
                  self__names=self.names, self__options__level=self.options.level, self__best=self.best,
                  limit=limit, step=step)
        if step != 2 or not (self.done or self.rate < 0.3 or self.kind == 2 or len(self.names) == 1
                             or self.options.level == 5 or self.best is None or limit == 8):
            comm.Barrier()
        comm.allreduce(1)


class Late(Solver):
    """Its objects have a dictionary of their own, which is not that of their class."""

    def __init__(self):
        super().__init__()
        vars(self)["%d" % comm.rank] = 1
        for i in range(40):
            setattr(self, "more_%d" % i, i)


def around(step):
    enclosed = 11 if first else 12

    def inner():
        if step == 2:
            write("around.<locals>.inner", enclosed=enclosed, step=step)
        if step != 2 or enclosed != 11:
            comm.Barrier()
        comm.allreduce(1)

    inner()


def numbers(step):
    count = numpy.int64(-3 if first else 3)
    small = numpy.uint8(200 if first else 100)
    ratio = numpy.float32(0.5 if first else 0.25)
    flag = numpy.bool_(first)
    scalar = numpy.array(7 if first else 8)
    table = numpy.zeros((3 if first else 4, 5))
    if step == 2:
        write("numbers", count=count, small=small, ratio=ratio, flag=bool(flag), scalar=scalar, table=table, step=step)
    if step != 2 or count > 0:
        comm.Barrier()
    comm.allreduce(1)


def properties(solver, step):
    if step != 2 or not solver.computed:
        comm.Barrier()
    comm.allreduce(1)


limit = 8 if first else 9
what = sys.argv[2] if len(sys.argv) > 2 else "Solver"
solver = {"Late": Late}.get(what, Solver)()
write("<module>", first=first, limit=limit)
for turn in range(5):
    if what == "around":
        around(turn)
    elif what == "numbers":
        numbers(turn)
    elif what == "properties":
        properties(solver, turn)
    else:
        solver.exchange(turn)
