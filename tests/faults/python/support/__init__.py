"""What the Python fault programs share: MPI, the fault switch, and the safety net."""

import argparse
import array
import os
import signal
import sys

# No program outlives two minutes, whatever becomes of the test that started it.
signal.alarm(120)

_parser = argparse.ArgumentParser()
_parser.add_argument("--fault", action="store_true", help="go wrong; without it the control")
_parser.add_argument("--ctypes", metavar="LIBRARY", help="drive this MPI library without mpi4py")
_parser.add_argument("quiet_s", nargs="?", type=float, default=2.5)
_args = _parser.parse_args()

FAULT = _args.fault
# How long a correct program is quiet between its messages (`arguments:` in the header comment).
QUIET_S = _args.quiet_s

if _args.ctypes:
    # Where packages lie: a verdict shows the programs' lines, not those of what stands in for mpi4py.
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
    from ctypes_mpi import load
    MPI = load(_args.ctypes)
else:
    from mpi4py import MPI


def doubles(*values):
    return array.array("d", values)


def report(comm, what, value):
    """Rank 0 prints a result: a run under rollcall must print what the bare run prints."""
    if comm.rank == 0:
        print(what, value, flush=True)
