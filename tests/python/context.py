# SPDX-License-Identifier: Apache-2.0
"""Threads without Python frames: their records state it, and their context is the stack of the main thread."""
import ctypes
import struct
import sys
import threading
import time

import expect
import mpi

MULTIPLE = 3
expect.start(MULTIPLE)
mpi.barrier()


def names(path):
    return [frame.name for frame in path.frames]


def wait_for_native_thread():
    # Many calls: early records, made before the main thread waits here, can have another context or none.
    mpi.helper.start_thread(mpi.BARRIER, mpi.SELF, 200000)
    return mpi.helper.join_thread()


# The main thread is not in MPI: the shim reads its frames by copying memory.
tid = wait_for_native_thread()
path, context = expect.the_ring.last(tid)
assert path.end == "no frames" and not path.frames and path.native, path.end
assert context is not None and context.end == "complete" and not context.native
assert names(context) == ["wait_for_native_thread", "<module>"], names(context)
code = wait_for_native_thread.__code__
assert context.frames[0].file == code.co_filename
line = expect.line_of(code, context.frames[0].offset)
assert line == code.co_firstlineno + 3, (line, code.co_firstlineno)


BYTE = None


def inside_mpi():
    """Waits in a recorded call until the native thread has called MPI."""
    status = ctypes.create_string_buffer(64)
    word = ctypes.c_int()
    mpi.lib.MPI_Recv(ctypes.byref(word), 1, BYTE, 0, 7, mpi.SELF, status)


def sends():
    word = ctypes.c_int(1)
    mpi.lib.MPI_Send(ctypes.byref(word), 1, BYTE, 0, 7, mpi.SELF)


result = []


def look():
    # Reads the native thread's records while the main thread is in MPI_Recv, then sends the message for it.
    time.sleep(0.2)
    mpi.helper.start_thread(mpi.BARRIER, mpi.SELF, 1000)
    native = mpi.helper.join_thread()
    result.append(expect.the_ring.last(native))
    sends()


def compare_inside_mpi():
    global BYTE
    BYTE = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi.real, "ompi_mpi_byte")))
    helper = threading.Thread(target=look)
    helper.start()
    inside_mpi()
    helper.join()
    path, context = result[0]
    assert path.end == "no frames", path.end
    assert names(context) == ["inside_mpi", "compare_inside_mpi", "<module>"], names(context)
    assert context.native  # the context is the call path of a recorded call


# In MPICH 4.0.2, a send by another thread does not wake a receive from the own rank, even without the shim.
if "mpich" not in mpi.path:
    compare_inside_mpi()

# A Python thread has frames of its own and gets no context.
kept = []


def known():
    mpi.barrier(); expect.compare()  # noqa: E702
    kept.append(expect.the_ring.last(threading.get_native_id())[1])


known_thread = threading.Thread(target=known)
known_thread.start()
known_thread.join()
assert kept == [None]
assert expect.the_ring.header()[1:] == ("on", 0, 0)
mpi.finalize()
print("ok")
