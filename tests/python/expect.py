# SPDX-License-Identifier: Apache-2.0
"""Compares the stack that was recorded last with the stack that Python itself reports."""
import dis
import sys
import threading

import mpi
import ring

MAX_DEPTH = 64
NATIVE_COMPLETE = 1
HAS_QUALNAME = sys.version_info >= (3, 11)

the_ring = None


def start(level=None):
    """Initialises MPI and makes one call, which requests the shim's check of the interpreter."""
    global the_ring
    mpi.init(level)
    the_ring = ring.Ring()
    mpi.barrier()


def line_of(code, offset):
    """Returns the line of the instruction at `offset`, from Python's own table."""
    if offset == ring.NO_OFFSET:
        return code.co_firstlineno
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            if start <= offset < end:
                return line
        return None
    line = code.co_firstlineno
    for start, at in dis.findlinestarts(code):
        if start > offset:
            break
        line = at
    return line


def table_of(code):
    return code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab


def compare(above=1):
    """Asserts that the last collective of this thread, made by mpi.barrier, has exactly the Python stack of
    the function `above` levels up, which must have called from its current line. Returns the path."""
    path, _ = the_ring.last(threading.get_native_id())
    frame = sys._getframe(above)
    stack = []
    while frame is not None:
        stack.append(frame)
        frame = frame.f_back
    recorded = path.frames
    assert recorded[0].name == "barrier", recorded[0].name
    recorded = recorded[1:]
    cut = len(stack) > MAX_DEPTH - 1
    assert path.end == ("depth limit" if cut else "complete"), path.end
    assert len(recorded) == min(len(stack), MAX_DEPTH - 1), (len(recorded), len(stack))
    for depth, (got, frame) in enumerate(zip(recorded, stack)):
        code = frame.f_code
        name = code.co_qualname if HAS_QUALNAME else code.co_name
        assert (got.file, got.name) == (code.co_filename, name), (depth, got.file, got.name, name)
        assert got.first_line == code.co_firstlineno
        assert got.line_table == table_of(code), depth
        assert got.version == sys.version_info[0] << 8 | sys.version_info[1]
        line = line_of(code, got.offset)
        # The innermost frame has advanced since the call, on the same line; its callers have not.
        assert line == frame.f_lineno, (depth, got.name, line, frame.f_lineno)
        if depth > 0:
            assert got.offset == frame.f_lasti, (depth, got.name, got.offset, frame.f_lasti)
    # Runs of Python frames and native frames of the interpreter's loop correspond one to one.
    if not cut and path.native_end == NATIVE_COMPLETE:
        runs = sum(frame.entry for frame in path.frames)
        loops = sum(mpi.helper.is_loop(pc) for pc in path.native)
        assert runs == loops, (runs, loops)
    return path
