# SPDX-License-Identifier: Apache-2.0
"""The recipe of docs/ci.md: each rank runs pytest on the same tests, which communicate with each other."""

from mpi4py import MPI

COMM = MPI.COMM_WORLD


def test_sum():
    assert COMM.allreduce(1) == COMM.size


def test_everybody_comes():
    COMM.Barrier()
