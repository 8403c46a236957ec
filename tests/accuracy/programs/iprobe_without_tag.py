# SPDX-License-Identifier: Apache-2.0
# Rank 0 looks for any message of rank 1 and takes it for a likelihood. It is a buffer, with another tag; the likelihood
# comes only after the answer to the buffer, which rank 0 would send next.
#
# report: nanograv/PTMCMCSampler#3
# job: ranks=3 outcome=hung
# expect: kind=p2p-unmatched|p2p-deadlock culprits=0 attach-kind=p2p-deadlock
# says: tag
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv
BUFFER, ANSWER, LIKELIHOOD = 44, 18, 55


def cold_chain():
    samples = []
    for _ in range(5):
        time.sleep(0.1)                 # evaluates its own likelihood
        if comm.Iprobe(source=1, tag=LIKELIHOOD if CONTROL else MPI.ANY_TAG):
            samples.append(comm.recv(source=1, tag=LIKELIHOOD))
    buffer = comm.recv(source=1, tag=BUFFER)
    comm.send(sum(buffer), dest=1, tag=ANSWER)
    while len(samples) < 1:
        samples.append(comm.recv(source=1, tag=LIKELIHOOD))
    return samples


def hot_chain():
    comm.send(list(range(10)), dest=0, tag=BUFFER)
    jump = comm.recv(source=0, tag=ANSWER)
    comm.send(-0.5 * jump, dest=0, tag=LIKELIHOOD)


comm.Barrier()
if comm.rank == 0:
    print(cold_chain())
elif comm.rank == 1:
    hot_chain()
comm.Barrier()
