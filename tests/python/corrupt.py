# SPDX-License-Identifier: Apache-2.0
"""Calls MPI while the interpreter's state is damaged. The process must not crash, and the stack must be recorded
as unreadable. Later calls must be recorded completely again."""
import ctypes
import sys
import threading

import expect
import mpi
import ring

# Offsets of the links in PyThreadState, frames and code objects, by minor version (proto/python_layout.h).
THREAD_FRAME = {8: 24, 9: 24, 10: 24, 11: 56, 12: 56, 13: 72}
CFRAME_FRAME = {11: 8, 12: 0}
FRAME_PREVIOUS = {8: 24, 9: 24, 10: 24, 11: 48, 12: 8, 13: 8}
FRAME_CODE = {8: 32, 9: 32, 10: 32, 11: 32, 12: 0, 13: 0}
FRAME_INSTRUCTION = {8: 104, 9: 104, 10: 96, 11: 56, 12: 56, 13: 56}
CODE_FILE = {8: 104, 9: 104, 10: 104, 11: 112, 12: 112, 13: 112}
CODE_TABLE = {8: 120, 9: 120, 10: 120, 11: 136, 12: 136, 13: 136}
THREAD_ID = {8: 176, 9: 176, 10: 176, 11: 152, 12: 136, 13: 152}
minor = sys.version_info[1]


def word(address):
    return ctypes.c_uint64.from_address(address).value


expect.start()
get_state = ctypes.pythonapi.PyThreadState_Get
get_state.restype = ctypes.c_void_p
state = get_state()
frame_at = state + THREAD_FRAME[minor]
if minor in CFRAME_FRAME:
    frame_at = word(frame_at) + CFRAME_FRAME[minor]


def barrier_with(where, value, library):
    library.with_word(where, value, mpi.BARRIER, mpi.SELF)
    return expect.the_ring.last(threading.get_native_id())[0]


tries = uncounted = 0


def unreadable(where, value, library=mpi.helper):
    global tries, uncounted
    before = expect.the_ring.header()[3]
    path = barrier_with(where, value, library)
    assert path.end == "unreadable" and not path.frames, (path.end, hex(value))
    tries += 1
    uncounted += expect.the_ring.header()[3] == before
    assert len(path.native) > 2


forbidden = mpi.helper.forbidden_page()
heap = ctypes.create_string_buffer(4096)
ctypes.memset(heap, 0x41, 4096)
text = ctypes.c_char_p(b"some text that is no frame and no code, long enough to be read" * 8)
bad = [8, 0x1001, forbidden, forbidden + 0xff8, 0xffff800000000000, 0x7ffffffff000, 0x800000000000,
       (ctypes.addressof(heap) + 15) & ~15, ctypes.cast(text, ctypes.c_void_p).value & ~7,
       0xdeadbeefdeadbee8, 0xfffffffffffffff8, id(None), id(expect.compare), state]
# The module's own frame: the innermost frame here, an outer frame in the calls below.
frame = ctypes.c_uint64.from_address(frame_at).value
code = word(frame + FRAME_CODE[minor])
for library in (mpi.helper, mpi.helper_holding):
    for value in bad:
        unreadable(frame_at, value, library)
        if minor in CFRAME_FRAME and value != state:
            unreadable(state + THREAD_FRAME[minor], value, library)
        unreadable(frame + FRAME_CODE[minor], value, library)
        unreadable(code + CODE_FILE[minor], value, library)
        unreadable(code + CODE_TABLE[minor], value, library)
    unreadable(state + THREAD_ID[minor], 1, library)
    # Memory that reads as a chain without frames is counted only when its call path is first recorded.
    assert uncounted <= tries // 20, (uncounted, tries)
    # No frame: by its chain the thread runs only native code, which contradicts its native stack.
    assert barrier_with(frame_at, 0, library).end == "unreadable"

# A damaged outer frame makes the whole stack unreadable: a partial stack would be taken for a complete one.
for value in bad:
    unreadable(frame + FRAME_PREVIOUS[minor], value)

# A cycle of frames must not be followed forever.
path = barrier_with(frame + FRAME_PREVIOUS[minor], frame, mpi.helper)
assert path.end in ("depth limit", "unreadable"), path.end
# An instruction outside the code object.
if minor >= 11:
    unreadable(frame + FRAME_INSTRUCTION[minor], code + (1 << 20))

# A frame at the end of a page: no memory after it may be read.
moved = mpi.helper.at_end_of_page(frame, {8: 108, 9: 108, 10: 100, 11: 70, 12: 71, 13: 71}[minor] + 7 & ~7)
path = barrier_with(frame_at, moved, mpi.helper)
assert path.end == "complete" and path.frames[0].name == "<module>", path.end

mpi.barrier()
path, _ = expect.the_ring.last(threading.get_native_id())
assert path.end == "complete" and [f.name for f in path.frames] == ["barrier", "<module>"]
header = expect.the_ring.header()
assert header[1:3] == ("on", 0), header
mpi.finalize()
print("ok", header[3])
