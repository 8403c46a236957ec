# SPDX-License-Identifier: Apache-2.0
"""The case that the recipe finds: only some ranks continue a test, so that the others hang."""

import os

import pytest
from mpi4py import MPI

COMM = MPI.COMM_WORLD


@pytest.mark.skipif(COMM.rank == 0 and "UNEVEN" in os.environ, reason="not on rank 0")
def test_barrier_is_skipped_on_one_rank():
    COMM.Barrier()  # @waiting


def test_the_rest():
    COMM.allreduce(1)  # @culprit
