#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs pytest with mpi4py under `rollcall check` as in docs/ci.md: it passes, or the verdict names the line in the
test and, with the plugin, the test and the exception that pytest holds.
"""

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402

PYTHON = "/usr/bin/python3"  # Debian's Python, for which mpi4py and pytest are installed
RECIPES = os.path.join(HERE, "pytest_recipe")
MODULE = os.path.join(HERE, "..", "..", "cli", "python")


class Run:
    """A run of `rollcall check`, which must end with the exit code."""

    def __init__(self, args, directory, module, ranks, expected, variables=(), options=(), plugin=True):
        out = [os.path.join(directory, name) for name in ("verdict.json", "verdict.xml")]
        words = ["env", *variables, *(["PYTHONPATH=" + MODULE] if plugin else []),
                 args.rollcall, "check", "--color=never", "--kill-after", "1",
                 "--output", "json=" + out[0], "--output", "junit=" + out[1], "--"]
        words += jobs.launcher("openmpi", ranks) + [
            PYTHON, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", RECIPES,
            *(["-p", "rollcall.pytest_plugin"] if plugin else []), *options, os.path.join(RECIPES, module)]
        with jobs.Job(words) as job:
            code = job.wait()
            self.text = job.stdout() + job.stderr()
        self.where = " ".join([module, *variables, *options])
        if code != expected:
            self.fail("exit code %s instead of %d" % (code, expected))
        with open(out[0], encoding="utf-8") as file:
            verdict = json.load(file)
        self.findings, self.seconds = verdict["findings"], (verdict["no_progress_ns"] or 0) / 1e9
        self.cases = xml.etree.ElementTree.parse(out[1]).getroot().iter("testcase")
        self.source = os.path.join(RECIPES, module)

    def fail(self, reason):
        sys.exit("%s: %s\n%s" % (self.where, reason, self.text))

    def line(self, marker):
        with open(self.source, encoding="utf-8") as file:
            return [number for number, text in enumerate(file, 1) if marker in text][0]

    def expect_nothing(self):
        if self.findings:
            self.fail("something was found")

    def expect_line(self, marker):
        named = [site["line"] for finding in self.findings for site in finding["lines"]
                 if os.path.basename(site["file"] or "") == os.path.basename(self.source)]
        if self.line(marker) not in named:
            self.fail("line %d is not named" % self.line(marker))

    def expect_phases(self, *expected):
        found = sorted((phase["ranks"], phase["text"]) for phase in self.findings[0]["phases"])
        if found != sorted(expected):
            self.fail("phases %s instead of %s" % (found, sorted(expected)))
        for _, text in expected:
            if text not in self.text:
                self.fail("the report does not say: " + text)

    def expect_case(self, class_name, name):
        failed = [(case.get("classname"), case.get("name")) for case in self.cases if case.find("failure") is not None]
        if failed != [(class_name, name)]:
            self.fail("failed cases %s instead of %s" % (failed, (class_name, name)))


def check_without_the_plugin(args, directory):
    run = functools.partial(Run, args, directory)
    for module in ("test_halo.py", "test_uneven.py"):
        run(module, 2, 0, plugin=False).expect_nothing()
    run("test_uneven.py", 2, 1, ["UNEVEN=1"], plugin=False).expect_line("@waiting")


def check_the_exception(args, directory):
    run = functools.partial(Run, args, directory)
    run("test_swallowed.py", 4, 0).expect_nothing()
    broken = run("test_swallowed.py", 4, 1, ["RAISES=1"])
    broken.expect_line("@waiting")
    broken.expect_line("@culprit")
    raised = ("before: test_exchange failed at test_swallowed.py:%d: ZeroDivisionError: division by zero"
              % broken.line("@raises"))
    broken.expect_phases(([0, 2, 3], "test_swallowed.py::test_exchange"),
                         ([1], "test_swallowed.py::test_next; " + raised))
    broken.expect_case("test_swallowed", "test_exchange")
    if broken.seconds > 5:
        broken.fail("the hang was reported after %.1f s" % broken.seconds)
    print("the hang of 4 ranks was reported after %.1f s" % broken.seconds)


def check_marked_tests(args, directory):
    run = functools.partial(Run, args, directory)
    for ranks in (1, 2, 3):
        run("marked/test_marked.py", ranks, 0).expect_nothing()
    broken = run("marked/test_marked.py", 3, 1, ["RAISES=1"])
    broken.expect_line("@waiting")
    test = "marked/test_marked.py::TestExchange::test_of_three[2]"
    raised = ("before: TestExchange::test_of_three[2] failed at test_marked.py:%d: AssertionError: a wrong part"
              % broken.line("@raises"))
    broken.expect_phases(([0, 2], test), ([1], test + "; teardown; " + raised))
    broken.expect_case("marked.test_marked.TestExchange", "test_of_three[2]")


def check_that_other_tests_run(args, directory):
    """Each marked test is a job of its own under `rollcall check`, as docs/ci.md says; two run at once with xdist."""
    tools = os.path.join(directory, "tools")
    os.mkdir(tools)
    with open(tools + "/mpiexec", "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nexec %s check --color=never --kill-after 1 -- mpirun.openmpi --oversubscribe "$@"\n'
                   % args.rollcall)
    os.chmod(tools + "/mpiexec", 0o755)
    words = ["env", "RAISES=1", "PATH=%s:%s" % (tools, os.environ["PATH"]), "PYTHONPATH=" + MODULE,
             "PYTEST_PLUGINS=rollcall.pytest_plugin", PYTHON, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             "--color=no", "--rootdir", RECIPES, os.path.join(RECIPES, "marked")]
    for options in ([], ["-n", "2"]) if has("xdist") else ([],):
        with jobs.Job(words + options) as job:
            code, text = job.wait(), job.stdout() + job.stderr()
        test = "marked/test_marked.py::TestExchange::test_of_three[2]"
        for part in ("rollcall: hung, proven", "1 failed, 3 passed", "phase of ranks 0,2: %s\n" % test,
                     "phase of rank 1: %s; teardown; before: TestExchange::test_of_three[2] failed at " % test):
            if code != 1 or part not in text:
                sys.exit("marked tests %s: exit code %s, not found: %s\n%s" % (options, code, part, text))


CHECKS = (check_without_the_plugin, check_the_exception, check_marked_tests, check_that_other_tests_run)


def has(modules):
    return subprocess.run([PYTHON, "-c", "import " + modules], stdin=subprocess.DEVNULL, capture_output=True,
                          check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    args = parser.parse_args()
    if not has("mpi4py, pytest"):
        print("SKIPPED: Debian's mpi4py and pytest are not installed")
        sys.exit(jobs.SKIPPED)
    directory = jobs.make_directory()
    try:
        for check in CHECKS:
            check(args, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
