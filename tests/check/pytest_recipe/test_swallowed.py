# SPDX-License-Identifier: Apache-2.0
"""A test raises on one rank before a collective. pytest holds the exception, and the rank goes on with the next test."""

import os

from mpi4py import MPI

COMM = MPI.COMM_WORLD
BROKEN = "RAISES" in os.environ and COMM.rank == 1


def share(parts):
    return COMM.size / parts  # @raises


def test_first():
    COMM.Barrier()


def test_exchange():
    part = share(0 if BROKEN else COMM.size)
    assert COMM.allreduce(part) == COMM.size  # @waiting


def test_next():
    COMM.Barrier()  # @culprit
