# SPDX-License-Identifier: Apache-2.0
"""As branch.c."""
import signal
import sys

signal.alarm(120)

from mpi4py import MPI  # noqa: E402

comm = MPI.COMM_WORLD
truth = open("%s/truth.%d" % (sys.argv[1], comm.rank), "w")


def write(function, names, variables):
    for name in names.split():
        value = variables[name]
        text = "of length %d" % len(value) if isinstance(value, (list, str, dict, tuple, set, bytes)) else repr(value)
        truth.write("%s %s %s\n" % (function, name, text))
    truth.flush()


def exchange(step, files, scale=1.5):
    skip = comm.rank == 0 and step == 2
    best = None if skip else 3
    name = "x" * (4 if skip else 5)
    big = -2**63 if skip else 2**63 - 1
    table = dict.fromkeys(range(3 if skip else 2))
    ratio = 0.1 if skip else 0.2
    pair, members, raw = (1,) * (2 + skip), {1, 2, skip, 7 + skip}, b"12" if skip else b"1"
    if step == 2:
        write("exchange", "step files scale skip best name big table ratio pair members raw", locals())
    if not skip:
        comm.Barrier()
    comm.allreduce(1)
    return best, name, big, table, ratio, pair, members, raw


tolerance = 1e-6 if comm.rank == 0 else 1e-3
for turn in range(5):
    if turn == 2:
        write("<module>", "tolerance turn", globals())
    exchange(turn, ["a"] * (3 if comm.rank == 0 else 4))
