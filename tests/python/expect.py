"""What Python itself says of the stack of the call that was recorded last, to compare with."""
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
    """Initialises MPI and lets the shim check the interpreter: the first call asks for it."""
    global the_ring
    mpi.init(level)
    the_ring = ring.Ring()
    mpi.barrier()


def line_of(code, offset):
    """The line of the instruction at `offset`, by Python's own table."""
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
    """Asserts that the last collective of this thread, made by mpi.barrier, holds exactly the Python stack
    of the caller (`above` functions up), which has made it from the line that it is on now. Returns its
    path."""
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
        # The innermost has gone on since the call, on the same line; its callers have not.
        assert line == frame.f_lineno, (depth, got.name, line, frame.f_lineno)
        if depth > 0:
            assert got.offset == frame.f_lasti, (depth, got.name, got.offset, frame.f_lasti)
    # Each run of Python frames has a native frame of the interpreter's loop, and the other way round.
    if not cut and path.native_end == NATIVE_COMPLETE:
        runs = sum(frame.entry for frame in path.frames)
        loops = sum(mpi.helper.is_loop(pc) for pc in path.native)
        assert runs == loops, (runs, loops)
    return path
