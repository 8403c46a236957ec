# SPDX-License-Identifier: Apache-2.0
"""Tests as mpi-pytest marks them; one raises on one rank before a collective."""

import os

import pytest
from mpi4py import MPI

COMM = MPI.COMM_WORLD


def test_alone():
    assert COMM != MPI.COMM_NULL


class TestExchange:
    @pytest.mark.parallel(nprocs=2)
    def test_of_two(self):
        assert COMM.allreduce(1) == 2

    @pytest.mark.parallel(nprocs=3)
    @pytest.mark.parametrize("part", [1, 2])
    def test_of_three(self, part):
        assert COMM.rank != 1 or part == 1 or "RAISES" not in os.environ, "a wrong part"  # @raises
        assert COMM.allreduce(part) == 3 * part  # @waiting
