# Data-parallel training without a DistributedSampler: all ranks draw the same samples, and the gradients that they
# average are the same. In the control each rank draws its own.
#
# rollcall-test: ranks=4 data=full check=
# expect: kind=identical-inputs culprits=any waiting=none op=MPI_Allreduce seq=any lines=none
# expect+: certainty=suspected
import random

from support import FAULT, MPI, doubles, report

comm = MPI.COMM_WORLD
shard = 0 if FAULT else comm.rank
sampler = random.Random(shard)
weights = [0.0] * 256
total = doubles(*weights)
for step in range(20):
    sample = [sampler.uniform(-1, 1) for _ in weights]
    error = sum(weight * value for weight, value in zip(weights, sample)) - 1
    comm.Allreduce(doubles(*(2 * error * value for value in sample)), total, MPI.SUM)  # @culprit
    weights = [weight - 0.001 * gradient / comm.size for weight, gradient in zip(weights, total)]
report(comm, "weight", round(weights[0], 9))
