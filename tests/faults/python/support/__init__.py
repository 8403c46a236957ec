"""Code that the Python fault programs share: MPI, the fault switch, and a time limit."""

import argparse
import array
import os
import signal
import sys

# Every program ends after two minutes, even if the test that started it ended.
signal.alarm(120)

_parser = argparse.ArgumentParser()
_parser.add_argument("--fault", action="store_true", help="go wrong; without it the control")
_parser.add_argument("--ctypes", metavar="LIBRARY", help="drive this MPI library without mpi4py")
_parser.add_argument("quiet_s", nargs="?", type=float, default=2.5)
_args = _parser.parse_args()

FAULT = _args.fault
# Time that a correct program spends between its messages (`arguments:` in the header comment).
QUIET_S = _args.quiet_s

if _args.ctypes:
    # A verdict skips frames in site-packages: it shows the programs' lines, not those of the mpi4py substitute.
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
    from ctypes_mpi import load
    MPI = load(_args.ctypes)
else:
    from mpi4py import MPI


def doubles(*values):
    return array.array("d", values)


def report(comm, what, value):
    """Prints a result on rank 0: a run under rollcall must print the same as the bare run."""
    if comm.rank == 0:
        print(what, value, flush=True)
