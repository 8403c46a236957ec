# SPDX-License-Identifier: Apache-2.0
"""An uncaught exception must be in the ring when MPI_Finalize is called, equal to the traceback that Python
prints; an exception that does not end the program must not be. The parent checks the ring of the child."""
import atexit
import ctypes
import os
import re
import struct
import subprocess
import sys
import types

import ring

HEADER_AT = 1488
PYTHON = 1


class BadSample(ValueError):
    pass


class Described(Exception):
    """Has a __str__ of its own: program code that may have side effects and must not be called."""

    def __str__(self):
        print("called", flush=True)
        return "by itself"


class Kept(OSError):
    @property
    def filename(self):
        print("called", flush=True)


def many_lines():
    raise ValueError("bad sample\nand why")


def arguments():
    raise BadSample("é€", 3)


def chained():
    try:
        {}["lr"]
    except KeyError as error:
        raise RuntimeError("no learning rate") from error


def key():
    {}["lr"]


def missing_file():
    open("/no/such/file")


def nothing_said():
    assert [] == [1]


def of_a_module():
    subprocess.run([sys.executable, "-c", "raise SystemExit(3)"], check=True)


def described():
    raise Described()


def kept():
    raise Kept(5, "broken")


def object_inside():
    raise ValueError(object())


def recursion():
    recursion()


def held():
    """Has atexit call MPI_Finalize with the GIL held; atexit runs its functions in reverse order."""
    import mpi
    atexit.register(mpi.holding.MPI_Finalize)
    raise ValueError("held")


def leaves_early():
    sys.exit(3)


def interrupted():
    raise KeyboardInterrupt


def swallowed():
    try:
        many_lines()
    except ValueError:
        pass


def in_a_thread():
    import threading
    thread = threading.Thread(target=many_lines)
    thread.start()
    thread.join()


def shown_and_gone_on():
    """Shows the exception and continues, as a notebook or a console does."""
    import code
    code.InteractiveInterpreter().runsource("1 / 0")
    assert sys.last_value is not None


def set_by_hand():
    sys.last_value = ValueError("never raised")
    sys.last_type, sys.last_traceback = ValueError, None


def no_exception_at_all():
    sys.last_value = BadSample


def shown_by_c():
    """PyErr_Print shows the exception, and the calling frames continue."""
    ctypes.pythonapi.PyRun_SimpleString(b"1 / 0")
    assert isinstance(sys.last_value, ZeroDivisionError)


NOTED = {"many_lines": ("ValueError", "bad sample"), "arguments": ("BadSample", "('é€', 3)"),
         "chained": ("RuntimeError", "no learning rate"), "key": ("KeyError", "'lr'"),
         "missing_file": ("FileNotFoundError", "[Errno 2] No such file or directory: '/no/such/file'"),
         "nothing_said": ("AssertionError", None), "of_a_module": ("subprocess.CalledProcessError", None),
         "described": ("Described", None), "kept": ("Kept", None), "object_inside": ("ValueError", None),
         "recursion": ("RecursionError", "maximum recursion depth exceeded"), "held": ("ValueError", "held")}
NOT_NOTED = ["leaves_early", "interrupted", "swallowed", "in_a_thread", "shown_and_gone_on", "set_by_hand",
             "no_exception_at_all", "shown_by_c"]


def child(case):
    import expect
    import mpi
    expect.start()
    if case != "held":
        # As mpi4py does: called last, after the interpreter is finalized.
        ctypes.pythonapi.Py_AtExit(ctypes.cast(mpi.lib.MPI_Finalize, ctypes.c_void_p))
    atexit.register(print, "leaving", flush=True)  # runs before the Py_AtExit function
    globals()[case]()
    mpi.barrier()


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def check_stack(left, path, printed):
    """Compares `path` with the last traceback that Python printed: in a chain, that of the uncaught exception."""
    import expect
    with open(__file__, encoding="utf-8") as file:
        here = list(codes(compile(file.read(), __file__, "exec")))
    last = printed[printed.rindex("Traceback (most recent call last)"):]
    told = re.findall(r'^  File "(.*)", line (\d+), in (.*)$', last, re.M)
    cut = "more times]" in last
    assert path.end == ("depth limit" if cut else "complete"), path.end
    assert not path.native
    assert cut or len(path.frames) == len(told), (len(path.frames), told)
    for frame, (file, line, name) in zip(path.frames, reversed(told)):
        assert frame.name.split(".")[-1] == name.split(".")[-1], (frame.name, name)
        assert frame.file == file, (frame.file, file)
        if file == __file__:
            (code,) = [one for one in here
                       if one.co_firstlineno == frame.first_line and one.co_name == frame.name.split(".")[-1]]
            assert expect.line_of(code, frame.offset) == int(line), (name, line)
        if cut:
            break


def run(case):
    process = subprocess.Popen([sys.executable, "-X", "utf8", __file__, case], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, universal_newlines=True, encoding="utf-8")
    printed, _ = process.communicate()
    left = ring.Ring(process.pid)
    kind, type_, message, path, ticks = struct.unpack("<QIIQQ", left.read(HEADER_AT, 32))
    texts = [None if ref == 0 else left.string(ref).decode() for ref in (type_, message)]
    os.unlink(ring.rings_of(process.pid)[0])
    return process.returncode, printed, kind, tuple(texts), path and left.path(path), ticks, left


def main():
    for case, expected in NOTED.items():
        status, printed, kind, texts, path, ticks, left = run(case)
        assert status == 1, (case, status, printed)
        assert kind == PYTHON, (case, printed)
        assert texts == expected or (case == "recursion" and texts[0] == expected[0]
                                     and texts[1].startswith(expected[1])), (case, texts)
        assert ticks != 0
        assert "called" not in printed.split("leaving")[1], printed
        check_stack(left, path, printed)
    for case in NOT_NOTED:
        _, printed, kind, texts, _, _, _ = run(case)
        assert kind == 0, (case, texts, printed)
    print("ok")


if len(sys.argv) > 1:
    child(sys.argv[1])
else:
    main()
