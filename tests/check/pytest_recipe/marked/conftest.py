# SPDX-License-Identifier: Apache-2.0
"""Stands in for mpi-pytest. In a job, runs the tests that are marked for its number of ranks, with a barrier behind
each; otherwise starts a job for each test that is marked for several.
"""

import os
import subprocess
import sys

import mpi4py
import pytest

RANKS = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "0"))
if RANKS == 0:
    mpi4py.rc.initialize = False  # Open MPI starts no job from a process that has initialised MPI


def pytest_configure(config):
    config.addinivalue_line("markers", "parallel(nprocs): runs on this number of ranks")


def _ranks_of(item):
    mark = item.get_closest_marker("parallel")
    return mark.kwargs.get("nprocs", 3) if mark else 1


def _start(item, arguments):
    def job(**_):
        subprocess.run(["mpiexec", "-n", str(_ranks_of(item)), sys.executable, "-B", "-m", "pytest", *arguments,
                        "%s::%s" % (item.path, item.nodeid.split("::", 1)[1])], check=True)
    return job


def pytest_collection_modifyitems(config, items):
    others = [item for item in items if _ranks_of(item) != RANKS]
    if RANKS != 0:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
        return
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(config.rootpath)]
    for item in others:
        if _ranks_of(item) != 1:
            item.obj = _start(item, arguments)


@pytest.fixture(autouse=True)
def everybody_ends_a_test_together():
    yield
    if RANKS != 0:
        from mpi4py import MPI
        MPI.COMM_WORLD.Barrier()
