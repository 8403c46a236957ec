#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests cli/python/rollcall/pytest_plugin.py without MPI: the phases that it tells, with a module `rollcall` that
collects them."""

import os
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
PLUGIN = os.path.join(HERE, "..", "..", "cli", "python", "rollcall")
SKIPPED = 77

TESTS = '''
import json
import pytest


class Unprintable(Exception):
    def __str__(self):
        raise ValueError


@pytest.fixture
def broken_end():
    yield
    raise RuntimeError("ended")


class TestClass:
    @pytest.mark.parametrize("x", ["a::b"])
    def test_parameter(self, x):
        assert x == 1, "other"  # @parameter


def test_library():
    json.loads("{")  # @library


@pytest.mark.xfail
def test_expected():
    raise OSError("first\\nsecond")  # @expected


@pytest.mark.skip
def test_skipped():
    pass


def test_end(broken_end):
    pass


def test_text():
    raise Unprintable  # @text


def test_leaves():
    raise SystemExit(3)  # @leaves
'''


def run(directory, name, text, loaded=True):
    """Runs pytest on a file with this text; returns the phases."""
    said = []
    fake = types.ModuleType("rollcall")
    fake.loaded, fake.phase, fake.__path__ = lambda: loaded, said.append, [PLUGIN]
    sys.modules["rollcall"] = fake
    sys.modules.pop("rollcall.pytest_plugin", None)
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    import pytest
    pytest.main(["-q", "-p", "no:cacheprovider", "-p", "rollcall.pytest_plugin", "--rootdir", directory, path])
    return said


def line(marker):
    return 1 + [marker in text for text in TESTS.splitlines()].index(True)


def phases_of(name, test, before, after):
    return ["%s::%s%s%s" % (name, test, part, "; before: " + held if held else "")
            for part, held in (("; setup", before), ("", before), ("; teardown", after))]


def expected():
    parameter = ("TestClass::test_parameter[a::b] failed at test_all.py:%d: AssertionError: other" % line("@parameter"))
    library = ("test_library failed at test_all.py:%d: json.decoder.JSONDecodeError: Expecting property name enclosed "
               "in double quotes: line 1 column 2 (char 1)" % line("@library"))
    xfailed = "test_expected xfailed at test_all.py:%d: OSError: first" % line("@expected")
    ended = "test_end failed at test_all.py:%d: RuntimeError: ended" % line('"ended"')
    text = "test_text failed at test_all.py:%d: test_all.Unprintable: <exception str() failed>" % line("@text")
    leaves = "test_leaves failed at test_all.py:%d: SystemExit: 3" % line("@leaves")
    phases = ["pytest collects the tests"]
    for test, before, after in (("TestClass::test_parameter[a::b]", "", parameter), ("test_library", parameter, library),
                                ("test_expected", library, xfailed), ("test_end", xfailed, xfailed),
                                ("test_text", ended, text), ("test_leaves", text, leaves)):
        phases += phases_of("test_all.py", test, before, after)
    return phases + ["pytest has run the tests; before: " + leaves]


def without_skipped(phases):
    """A skipped test has a setup and a teardown, and no effect on what is held."""
    assert len([phase for phase in phases if "test_skipped;" in phase]) == 2, phases
    return [phase for phase in phases if "test_skipped;" not in phase]


def check(name, found, wanted):
    for a, b in zip(found + ["nothing"] * len(wanted), wanted):
        if a != b:
            sys.exit("%s: found\n  %s\ninstead of\n  %s" % (name, a, b))
    if len(found) != len(wanted):
        sys.exit("%s: %d phases instead of %d" % (name, len(found), len(wanted)))


def main():
    sys.dont_write_bytecode = True
    try:
        import pytest  # noqa: F401
    except ImportError:
        print("SKIPPED: pytest is not installed")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as directory:
        check("all", without_skipped(run(directory, "test_all.py", TESTS)), expected())
        check("import", run(directory, "test_import.py", "import not_there\n"), [
            "pytest collects the tests",
            "pytest has run the tests; before: test_import.py failed at test_import.py:1: "
            "ModuleNotFoundError: No module named 'not_there'"])
        check("syntax", run(directory, "test_syntax.py", "x = (\n"), [
            "pytest collects the tests",
            "pytest has run the tests; before: test_syntax.py failed: SyntaxError: '(' was never closed"])
        check("not loaded", run(directory, "test_other.py", "def test_x(): assert 0\n", loaded=False), [])


if __name__ == "__main__":
    main()
