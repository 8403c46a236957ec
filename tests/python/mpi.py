# SPDX-License-Identifier: Apache-2.0
"""Calls the MPI library that $ROLLCALL_TEST_MPI names through ctypes, in a single process."""
import ctypes
import os

path = os.environ["ROLLCALL_TEST_MPI"]
real = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
# Functions are looked up in the global scope, as for a linked program: a look-up in the library itself would
# bypass preloaded libraries.
lib = ctypes.CDLL(None)
# The same functions, called with the GIL held.
holding = ctypes.PyDLL(None)
if "mpich" in path:
    SELF = ctypes.c_int(0x44000001)
else:
    SELF = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(real, "ompi_mpi_comm_self")))


def init(level=None, library=lib):
    if level is None:
        library.MPI_Init(None, None)
    else:
        library.MPI_Init_thread(None, None, level, ctypes.byref(ctypes.c_int()))


def barrier():
    lib.MPI_Barrier(SELF)


def finalize():
    lib.MPI_Finalize()


# tests/python/helper.c, called with the GIL released or held.
helper = ctypes.CDLL(os.environ["ROLLCALL_TEST_HELPER"])
helper_holding = ctypes.PyDLL(os.environ["ROLLCALL_TEST_HELPER"])
BARRIER = ctypes.cast(lib.MPI_Barrier, ctypes.c_void_p)
for each in (helper, helper_holding):
    each.with_word.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, type(SELF)]
    each.is_loop.argtypes = [ctypes.c_uint64]
    each.forbidden_page.restype = ctypes.c_uint64
    each.at_end_of_page.restype = ctypes.c_uint64
    each.at_end_of_page.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    each.start_thread.argtypes = [ctypes.c_void_p, type(SELF), ctypes.c_int]
    each.quiet_barriers.argtypes = [ctypes.c_void_p, type(SELF), ctypes.c_int, ctypes.c_int]
    each.barriers_for_ever.argtypes = [ctypes.c_void_p, type(SELF)]
