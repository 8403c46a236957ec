# SPDX-License-Identifier: Apache-2.0
"""Calls MPI from every kind of Python frame: each recorded stack must equal the one that Python reports."""
import functools
import os
import sys
import tempfile
import threading
import zipfile

import mpi
import expect

expect.start()
compare, barrier = expect.compare, mpi.barrier
runs = []


def call():
    barrier(); compare()  # noqa: E702: compare() requires the line of the call
    runs.append(1)


def recurse(depth):
    if depth == 0:
        return call()
    return recurse(depth - 1)


def generator(items):
    for item in items:
        call()
        yield item


def delegating():
    yield from generator([1, 2])


async def coroutine():
    await inner_coroutine()


async def inner_coroutine():
    call()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


@decorated
@decorated
def with_decorators():
    call()


class Thing:
    def method(self):
        call()

    @property
    def value(self):
        return self.method()

    def __add__(self, other):
        call()

    def __enter__(self):
        call()

    def __exit__(self, *_):
        call()


call()
for depth in (1, 20, 61, 62, 63, 64, 500):
    recurse(depth)
list(generator([1, 2, 3]))
list(delegating())
[call() for _ in range(2)]
{call(): 1 for _ in range(2)}
list(call() for _ in range(2))
(lambda: call())()
list(map(lambda _: call(), [1]))
sorted([2, 1], key=lambda _: call() or 0)
functools.reduce(lambda a, b: call(), [1, 2])
functools.partial(call)()
with_decorators()
Thing().method()
Thing().value
Thing() + 1
with Thing():
    pass
try:
    coroutine().send(None)
except StopIteration:
    pass
try:
    raise ValueError
except ValueError:
    call()
finally:
    call()

# Code objects are created and freed at the same addresses, with equal or different lines, so that a stale name
# or line is detected. Equal code must be stored once, however often it is compiled.
before = expect.the_ring.used(11)[1]
for i in range(300):
    blank = "\n" * (i % 3)
    exec(compile("def f%d():\n%s    call()\nf%d()\n" % (i % 10, blank, i % 10), "<input-%d>" % (i % 7),
                 "exec"), {"call": call})
after = expect.the_ring.used(11)[1]
assert after - before <= 2 * 210, (before, after)
before = after
for i in range(300):
    exec(compile("call()", "<again>", "exec"), {"call": call})
assert expect.the_ring.used(11)[1] - before <= 2

# File names that are not ASCII, not Latin-1, not in the basic plane, and undecodable; long ones are cut.
for name in ("d\xe9j\xe0.py", "\u4f8b.py", "\U0001f40d.py", "bad\udcff.py"):
    exec(compile("call()", name, "exec"), {"call": call})
exec("def \u540d():\n  call()\n\u540d()", {"call": call})

with tempfile.TemporaryDirectory() as directory:
    archive = os.path.join(directory, "packed.zip")
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("inside_zip.py", "def run(call):\n    return call()\n")
    sys.path.insert(0, archive)
    import inside_zip
    inside_zip.run(call)

errors = []


def in_thread(depth):
    try:
        for _ in range(50):
            recurse(depth)
    except BaseException as error:  # noqa: B902
        errors.append(repr(error))


threads = [threading.Thread(target=in_thread, args=(d,)) for d in (0, 3, 70)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors[0]

version, state, off, unreadable = expect.the_ring.header()
assert (version, state, off, unreadable) == (sys.hexversion, "on", 0, 0), (state, off, unreadable)
mpi.finalize()
print("ok", len(runs))
