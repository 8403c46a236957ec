# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of a call path with `depth` Python frames; tests/bench/run starts it with and without them.

    python_cost.py LOOP.so MPI-LIBRARY DEPTH BATCHES CALLS

Prints the nanoseconds per MPI_Barrier on MPI_COMM_SELF of each batch, one number per line.
"""
import ctypes
import sys

loop = ctypes.CDLL(sys.argv[1])
mpi = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL)
depth, batches, calls = map(int, sys.argv[3:])
preloaded = ctypes.CDLL(None)  # resolves functions as for a linked program
if "mpich" in sys.argv[2]:
    comm = ctypes.c_void_p(0x44000001)
else:
    comm = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_self")))
result = (ctypes.c_double * batches)()


# Ten functions, each with a code object of its own.
exec("\n".join("def f%d(n):\n    return measure() if n == 0 else f%d(n - 1)" % (i, (i + 1) % 10) for i in range(10)))


def measure():
    loop.measure(ctypes.cast(preloaded.MPI_Barrier, ctypes.c_void_p), comm, batches, calls, result)


preloaded.MPI_Init(None, None)
for _ in range(2):
    f0(depth - 3)  # noqa: F821: <module>, measure and f0 itself are the other frames
for value in result:
    print(value)
preloaded.MPI_Finalize()
