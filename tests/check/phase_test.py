#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a program with proto/rollcall.h in many ways, and looks for its texts in the ring and in the verdict."""

import argparse
import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402

TEXT_AT, TEXT_BYTES = 1536, 256  # FileHeader::user_phase
VALUES = {"bits": "5", "char": "255", "counter": "0", "double": "0.1", "enumerator": "3", "float": "0.5",
          "most": "18446744073709551615", "short": "-2", "size": "16", "true": "1"}
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# How to compile, and how to link. A weak reference would be 0 in the second ones.
EXECUTABLES = ((["-fPIE"], ["-pie"]), (["-fno-pie"], ["-no-pie"]))
LANGUAGES = (("gcc", "-std=c89"), ("gcc", "-std=c2x"), ("clang", "-std=c89"), ("clang", "-std=c2x"),
             ("g++", "-xc++", "-std=c++98"), ("g++", "-xc++", "-std=c++20", "-Wold-style-cast"),
             ("clang++", "-xc++", "-std=c++98"), ("clang++", "-xc++", "-std=c++20", "-Wold-style-cast"))


def builds():
    """Returns the command that compiles, and the options of the linker, for each way that this machine can build."""
    ways = [([compiler, level, *code], link) for compiler, level, (code, link) in
            itertools.product(("gcc", "clang"), ("-O0", "-O2"), EXECUTABLES)]
    ways += [([*language, "-O1"], []) for language in LANGUAGES]
    return [way for way in ways if shutil.which(way[0][0])]


class Test:
    def __init__(self, args, directory):
        self.args, self.directory = args, directory
        self.program = os.path.join(directory, "phase")
        os.makedirs(directory + "/include/rollcall")
        shutil.copy(os.path.join(ROOT, "proto", "rollcall.h"), directory + "/include/rollcall")
        self.barrier = os.path.join(directory, "barrier.o")
        subprocess.run([args.mpicc, "-fPIC", "-c", HERE + "/phase/barrier.c", "-o", self.barrier], check=True)

    def build(self, compiler, link):
        code = os.path.join(self.directory, "phase.o")
        subprocess.run([*compiler, *STRICT, "-g", "-I", self.directory + "/include", "-c", HERE + "/phase/phase.c",
                        "-o", code], check=True)
        subprocess.run([self.args.mpicc, *link, code, self.barrier, "-o", self.program], check=True,
                       env=dict(os.environ, OMPI_CC=compiler[0]))

    def ring_text(self, words):
        """Runs one rank, and returns the text in its ring."""
        rings = self.directory + "/run"
        shutil.rmtree(rings, ignore_errors=True)
        os.mkdir(rings, mode=0o700)
        preload = ["env", "LD_PRELOAD=" + self.args.shim, "ROLLCALL_DIR=" + rings]
        with jobs.Job(jobs.launcher("openmpi", 1) + preload + [self.program, *words]) as job:
            if job.wait() != 0 or "done" not in job.stdout():
                sys.exit("the program failed:\n" + job.stdout() + job.stderr())
        with open(glob.glob(rings + "/rings/*.ring")[0], "rb") as file:
            file.seek(TEXT_AT)
            return file.read(TEXT_BYTES).rstrip(b"\0").decode()

    def expect(self, way, words, expected):
        found = self.ring_text(words)
        if found != expected:
            sys.exit("%s: the ring has %r instead of %r" % (way, found, expected))

    def expect_values(self, way):
        """Those of the last run."""
        shown = subprocess.run([self.args.rollcall, "show", "--values", self.directory + "/run"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        found = {}
        for line in shown.splitlines():
            name, number, value, _, place = [cell.strip() for cell in re.split(r"  +", line.strip())]
            if number != "#1" or not place.startswith("phase.c:"):
                sys.exit("%s: a wrong line of values: %s" % (way, line))
            found[name] = value
        if not found.pop("bytes", "").startswith("bytes with hash ") or found != VALUES:
            sys.exit("%s: the values are %s" % (way, found))

    def expect_nothing_without_the_preload(self, way):
        with jobs.Job(jobs.launcher("openmpi", 1) + [self.program, "text"]) as job:
            if job.wait() != 0 or job.stdout().strip() != "done" or job.stderr():
                sys.exit("%s: without the preload:\n%s%s" % (way, job.stdout(), job.stderr()))

    def expect_phases_in_a_verdict(self):
        out = os.path.join(self.directory, "verdict.json")
        with jobs.Job([self.args.rollcall, "check", "--output", "json=" + out, "--"]
                      + jobs.launcher("openmpi", 3) + [self.program, "hang"]) as job:
            if job.wait() != 1:
                sys.exit("no finding:\n" + job.stdout() + job.stderr())
        with open(out, encoding="utf-8") as file:
            finding = json.load(file)["findings"][0]
        phases = finding["phases"]
        if phases != [{"ranks": [0], "text": "tests/phase.c::rank_0; alone"}, {"ranks": [1, 2], "text": "hang"}]:
            sys.exit("wrong phases: %s" % phases)
        values = [(value["name"], [(same["value"], same["ranks"]) for same in value["ranks_by_value"]])
                  for value in finding["values"]]
        if values != [("goes on", [("1", [0]), ("0", [1, 2])])]:
            sys.exit("wrong values: %s" % values)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for path in ("--rollcall", "--shim", "--mpicc"):
        parser.add_argument(path, required=True)
    args = parser.parse_args()
    directory = jobs.make_directory()
    try:
        test = Test(args, directory)
        ways = builds()
        for way in ways:
            test.build(*way)
            test.expect(way, ["in a test"], "in a test")
            test.expect_values(way)
        test.expect(ways[-1], [], "before MPI_Init")
        test.expect_nothing_without_the_preload(ways[-1])
        test.expect_phases_in_a_verdict()
        print("%d builds" % len(ways))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
