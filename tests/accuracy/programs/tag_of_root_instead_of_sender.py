# SPDX-License-Identifier: Apache-2.0
# Rank 0 receives the metadata of each process with a tag made of its own rank instead of the sender's.
#
# report: firedrakeproject/gusto#373
# job: ranks=4 outcome=hung
# expect: kind=p2p-unmatched culprits=0 attach-kind=p2p-deadlock
# says: tag
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


class Domain:
    def __init__(self, cells):
        self.cells = cells

    def metadata(self, key):
        return {"extruded_horizontal_mesh": comm.rank, "cells": self.cells}[key]


def collect(domain, keys):
    found = {}
    for j, key in enumerate(keys):
        if comm.rank == 0:
            values = [domain.metadata(key)]
            for procid in range(1, comm.size):
                tag = comm.size * j + (procid if CONTROL else comm.rank)
                values.append(comm.recv(source=procid, tag=tag))
            found[key] = values
        else:
            comm.send(domain.metadata(key), dest=0, tag=comm.size * j + comm.rank)
    return comm.bcast(found)


domain = Domain(100 + comm.rank)
known = collect(domain, ["cells", "extruded_horizontal_mesh"])
total = comm.allreduce(sum(known["cells"]))
if comm.rank == 0:
    print("cells", total)
