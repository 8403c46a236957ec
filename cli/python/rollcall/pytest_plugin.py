# SPDX-License-Identifier: Apache-2.0
"""Records which test a rank runs, and the exception that it raised last.

A rank whose test raises before a collective goes on with the next test, while the other ranks wait for it. pytest
holds the exception until the end of the session, which does not come. So it is a remark on the phase of all tests that
follow: "test_b.py::test_next; before: test_exchange failed at test_a.py:14: ZeroDivisionError: division by zero".
"""

import contextlib
import os
import sysconfig
import traceback

import pytest

import rollcall

_LIBRARIES = tuple(path + os.sep for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def _is_users(path):
    packages = {"site-packages", "dist-packages"} & set(path.split(os.sep))
    return not packages and not path.startswith(_LIBRARIES + ("<",))


def _place_of(exception):
    """" at FILE:LINE", of the innermost frame that belongs to no library."""
    places = [" at %s:%d" % (os.path.basename(frame.f_code.co_filename), line)
              for frame, line in traceback.walk_tb(exception.__traceback__) if _is_users(frame.f_code.co_filename)]
    return places[-1] if places else ""


def _text_of(exception):
    """The line of a traceback that names the exception; of a SyntaxError, there are indented lines before it."""
    lines = "".join(traceback.format_exception_only(type(exception), exception)).splitlines()
    return next(line for line in lines if not line.startswith(" "))


class _Phases:
    def __init__(self):
        self.raised = ""  # the remark on the last exception that pytest holds

    def enter(self, name, remark=""):
        rollcall.phase("; ".join(filter(None, (name, remark, self.raised))))

    def note(self, node, outcome, exception):
        self.raised = "before: %s %s%s: %s" % (node.nodeid.split("::", 1)[-1], outcome, _place_of(exception),
                                               _text_of(exception))

    def pytest_collection(self):
        self.enter("pytest collects the tests")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        self.enter(item.nodeid, "setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item):
        self.enter(item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item):
        self.enter(item.nodeid, "teardown")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        result = yield
        with contextlib.suppress(Exception):  # whatever the test raised, and other plugins made of it
            report = result.get_result()
            if call.excinfo is not None and not report.passed:
                if not report.skipped:
                    self.note(item, "failed", call.excinfo.value)
                elif hasattr(report, "wasxfail"):
                    self.note(item, "xfailed", call.excinfo.value)

    def pytest_exception_interact(self, node, call, report):
        with contextlib.suppress(Exception):
            if report.when == "collect":
                exception = call.excinfo.value
                self.note(node, "failed", exception.__cause__ or exception)  # pytest wraps an ImportError

    def pytest_sessionfinish(self):
        self.enter("pytest has run the tests")


def pytest_configure(config):
    if rollcall.loaded():
        config.pluginmanager.register(_Phases(), "rollcall-phases")
