# numpy arrays: rank 2 normalises a batch whose values are all zero, and passes 256 times 0/0 to the reduction.
#
# rollcall-test: ranks=4 data=full check=
# expect: kind=non-finite-input culprits=2 waiting=none op=MPI_Allreduce seq=3
# expect+: certainty=proven
import numpy

from support import FAULT, MPI, report

comm = MPI.COMM_WORLD
total = numpy.zeros(256)
for step in range(5):
    batch = numpy.sin(numpy.arange(256) + 256 * (comm.rank + step))
    if FAULT and comm.rank == 2 and step == 2:
        batch[:] = 0
    with numpy.errstate(invalid="ignore"):
        normalised = batch / numpy.abs(batch).max()
    comm.Allreduce(normalised, total, MPI.SUM)  # @culprit
    if numpy.isnan(total).any() != (FAULT and step == 2):
        comm.Abort(9)
report(comm, "total", round(total[7], 9))
