# SPDX-License-Identifier: Apache-2.0
"""Reads a ring's Python frames (proto/ring_format.h) from inside the process that writes it.

For the tests of the writing side: independent of the collector's reader, and runs under the oldest
interpreter that is tested (3.8).
"""
import glob
import os
import struct

THREADS, MODULES, STRINGS, CALL_PATHS, RINGS, PYTHON_CODE = 1, 6, 8, 9, 10, 11
ENDS = ["none", "complete", "depth limit", "no frames", "off", "unchecked", "unreadable"]
STATES = ["absent", "unchecked", "on", "off"]
NO_OFFSET = (1 << 31) - 1


def rings_of(pid):
    return glob.glob(os.path.join(os.environ["ROLLCALL_DIR"], "rings", "*-%d-*" % pid))


class Path:
    def __init__(self, end, frames, native, native_end):
        self.end, self.frames, self.native_end = end, frames, native_end
        self.native = native  # run-time return addresses


class Frame:
    """A frame as recorded: with the instruction's offset instead of a line."""

    def __init__(self, word, code):
        self.entry = bool(word >> 31 & 1)
        self.offset = word & NO_OFFSET
        self.file, self.name, self.line_table, self.first_line, self.version = code or (None,) * 5


class Ring:
    def __init__(self, pid=None):
        names = rings_of(pid or os.getpid())
        assert len(names) == 1, names
        self.file = os.open(names[0], os.O_RDONLY | os.O_CLOEXEC)
        self.sections = {}
        header = self.read(0, 4096)
        for i in range(16):
            kind, element, offset, capacity, used, lost = struct.unpack_from(
                "<IIQQQQ", header, 4096 - 40 * (16 - i))
            self.sections[kind] = (element, offset, capacity, used, lost)

    def read(self, at, size):
        return os.pread(self.file, size, at)

    def header(self):
        """Returns (PY_VERSION_HEX, state, reason for off, number of unreadable stacks)."""
        at = 232 + 64 + 256 + 512 + 128 + 256 + 8
        version, state, off, _, unreadable = struct.unpack("<IIIIQ", self.read(at, 24))
        return version, STATES[state], off, unreadable

    def used(self, kind):
        """Returns the current (capacity, used, lost)."""
        for i in range(16):
            row = struct.unpack("<IIQQQQ", self.read(4096 - 40 * (16 - i), 40))
            if row[0] == kind:
                return row[3:]
        return 0, 0, 0

    def element(self, kind, index):
        size, offset = self.sections[kind][:2]
        return self.read(offset + size * index, size)

    def string(self, ref):
        if ref == 0:
            return None
        at = self.sections[STRINGS][1] + ref
        (length,) = struct.unpack("<I", self.read(at, 4))
        return self.read(at + 4, length)

    def code(self, index):
        portable, file, name, table, first, version, _ = struct.unpack(
            "<QIIIIII", self.element(PYTHON_CODE, index))
        assert portable != 0
        return (self.string(file).decode("utf-8", "surrogateescape"),
                self.string(name).decode("utf-8", "surrogateescape"), self.string(table), first,
                version)

    def path(self, word):
        if word == 0:
            return None
        at = self.sections[CALL_PATHS][1] + 8 * word
        _, depth, end, _, python_depth, python_end, _ = struct.unpack(
            "<QHBBHBB", self.read(at, 16))
        words = struct.unpack("<%dQ" % (depth + python_depth),
                              self.read(at + 16, 8 * (depth + python_depth)))
        frames = [Frame(w, self.code((w >> 32) - 1) if w >> 32 else None) for w in words[depth:]]
        native = []
        for word_ in words[:depth]:
            bias = 0
            if word_ >> 48:
                (bias,) = struct.unpack_from("<Q", self.element(MODULES, (word_ >> 48) - 1), 16)
            native.append(bias + (word_ & (1 << 48) - 1))
        return Path(ENDS[python_end], frames, native, end)

    def rings_of_thread(self, tid):
        """Returns (first slot, slots, records ever written) of the collective ring of a running or ended
        thread; None if it has none."""
        count = min(self.used(THREADS)[1], self.sections[THREADS][2])
        for i in range(count):
            entry = self.element(THREADS, i)
            owner, state = struct.unpack_from("<II", entry, 0)
            if owner == tid and state != 0:
                return [struct.unpack_from("<Q", entry, at)[0] for at in (16, 32, 48)]
        return None

    def last_record(self, tid):
        """Returns the bytes of the thread's last record."""
        place = self.rings_of_thread(tid)
        assert place is not None and place[2] > 0, "no record of thread %d" % tid
        first, slots, head = place
        return self.element(RINGS, first + (head - 1) % slots)

    def paths(self, record):
        call_path, context_path = struct.unpack_from("<II", record, 96)
        return self.path(call_path), self.path(context_path)

    def last(self, tid):
        """Returns (path, context) of the thread's last collective."""
        return self.paths(self.last_record(tid))

    def records(self, tid):
        """Yields (operation, path, context) of each record of the thread that the ring still holds."""
        first, slots, head = self.rings_of_thread(tid)
        for i in range(max(0, head - slots), head):
            record = self.element(RINGS, first + i % slots)
            yield struct.unpack_from("<H", record, 24)[:1] + self.paths(record)
