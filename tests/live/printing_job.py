# SPDX-License-Identifier: Apache-2.0
"""A job whose rank 1 catches an exception and prints it, in a function that every rank calls.

printing_job.py handle: it goes on, and the job ends well. exit, abort: it leaves, while the others wait for it. leave,
stay: it leaves or not, and the others wait for a signal. The interpreter does not end by the exception, so that only
the output has it.
"""

import os
import signal
import sys
import traceback

from mpi4py import MPI


def load(rank):
    if rank == 1:
        raise ValueError("bad shard %d" % rank)  # @raised
    return rank


comm = MPI.COMM_WORLD
comm.Barrier()
try:
    load(comm.rank)
except ValueError:
    traceback.print_exc()
    if sys.argv[1] in ("exit", "leave"):
        os._exit(3)
    if sys.argv[1] == "abort":
        comm.Abort(3)
if sys.argv[1] in ("leave", "stay"):
    signal.pause()
comm.Barrier()
print("done")
