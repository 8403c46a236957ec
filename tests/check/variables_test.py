#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares each variable that a verdict shows with what the program wrote to a file before the call."""

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402

# A variable that must be shown, where the compiler can keep it.
ALWAYS = {"-O0": {"skip", "mode", "small", "ratio", "big", "size", "rounds", "last", "tolerance", "file"}}
CONSTANTS = {"-O0": {"skip", "owner", "twice"}}
CONSTANTS_OF_CALLS = {"-O0": {"skips"}}
FORTRAN = {"-O0": {"skip", "count"}}
PYTHON = {"skip", "best", "name", "big", "table", "ratio", "pair", "raw", "files", "tolerance"}
MEMBERS = {"-O0": {"done_", "this->rounds", "parts_", "sizes", "limits_->tolerance", "limits_->inner.turns",
                   "copy.inner.turns", "stop_", "mode_", "flags_.level", "flags_.wide", "flags_.on", "by_reference",
                   "file_count", "calls"}}
FORTRAN_MEMBERS = {"-O0": {"part%skip", "part%tolerance", "module_count", "calls"}}
PYTHON_MEMBERS = {"self.done", "self.rate", "self.kind", "self.names", "self.options.level", "self.best", "limit"}
PYTHON_OTHERS = {"Solver": PYTHON_MEMBERS, "Late": PYTHON_MEMBERS, "around": {"enclosed"},
                 "numbers": {"count", "small", "ratio", "flag", "scalar", "table"}}


def same(shown, written):
    """Numbers are equal as numbers."""
    try:
        return float(shown) == float(written)
    except ValueError:
        return shown == written


class Test:
    def __init__(self, args, directory):
        self.args, self.directory = args, directory
        self.shown = self.judged = 0

    def run(self, what, command, always, arguments=(), unshown=None):
        """`unshown`: the name of what has no value; None: not compared."""
        truth = os.path.join(self.directory, "truth")
        shutil.rmtree(truth, ignore_errors=True)
        os.mkdir(truth)
        out = os.path.join(self.directory, "verdict.json")
        with jobs.Job([self.args.rollcall, "check", "--kill-after", "2", "--output", "json=" + out, "--"]
                      + jobs.launcher("openmpi", 3) + command + [truth, *arguments]) as job:
            if job.wait() != 1:
                sys.exit("%s: no finding:\n%s%s" % (what, job.stdout(), job.stderr()))
        written = {}
        for rank in range(3):
            with open("%s/truth.%d" % (truth, rank), encoding="utf-8") as file:
                for line in file:
                    function, name, value = line.split(" ", 2)
                    written[rank, function, name] = value.strip()
        with open(out, encoding="utf-8") as file:
            finding = json.load(file)["findings"][0]
        values = finding.get("values", [])
        if unshown and finding.get("unshown_value", {}).get("name") != unshown:
            sys.exit("%s: %s is not named" % (what, unshown))
        for value in values:
            for group, rank in ((group, rank) for group in value["ranks_by_value"] for rank in group["ranks"]):
                expected = written.get((rank, group["function"], value["name"]))
                if expected is None or not same(group["value"], expected):
                    sys.exit("%s: %s in %s is shown as %s on rank %d, and was %s" % (
                        what, value["name"], group["function"], group["value"], rank, expected))
                self.judged += 1
        names = {value["name"] for value in values}
        if not always <= names:
            sys.exit("%s: not shown: %s" % (what, " ".join(sorted(always - names))))
        if not what.startswith("Python") and names and values[0]["name"] != "skip" and "skip" in names:
            sys.exit("%s: the variable of the condition is not the first one: %s" % (what, values[0]["name"]))
        self.shown += len(names)
        print("%-40s %s" % (what, " ".join(value["name"] for value in values)), flush=True)

    def build_and_run(self, compilers):
        program = os.path.join(self.directory, "branch")
        for (driver, variable, compiler, source, always), level in itertools.product(compilers, ("-O0", "-O1", "-O2")):
            if not driver or not shutil.which(compiler.split()[0]):
                continue
            options = ["-x", "c++"] if compiler.endswith("++") else []
            subprocess.run([driver, "-g", level, *options, os.path.join(HERE, "variables", source), "-o", program],
                           check=True, cwd=self.directory, env=dict(os.environ, **{variable: compiler}))
            self.run("%s %s %s" % (source, compiler, level), [program], always.get(level, set()))
            if source == "constants.c":  # another function
                self.run("%s %s %s, synchronize()" % (source, compiler, level), [program],
                         CONSTANTS_OF_CALLS.get(level, set()), arguments=["again"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=("compiled", "python"))
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--mpicc", required=True)
    parser.add_argument("--mpicxx")
    parser.add_argument("--mpifort")
    args = parser.parse_args()
    directory = jobs.make_directory()
    try:
        test = Test(args, directory)
        if args.language == "compiled":
            test.build_and_run([(args.mpicc, "OMPI_CC", "gcc", "branch.c", ALWAYS),
                                (args.mpicc, "OMPI_CC", "clang", "branch.c", ALWAYS),
                                (args.mpicxx, "OMPI_CXX", "g++", "branch.c", ALWAYS),
                                (args.mpicc, "OMPI_CC", "gcc", "constants.c", CONSTANTS),
                                (args.mpicc, "OMPI_CC", "clang", "constants.c", CONSTANTS),
                                (args.mpicxx, "OMPI_CXX", "g++", "constants.c", CONSTANTS),
                                (args.mpicxx, "OMPI_CXX", "g++", "members.cc", MEMBERS),
                                (args.mpicxx, "OMPI_CXX", "clang++", "members.cc", MEMBERS),
                                (args.mpifort, "OMPI_FC", "gfortran", "branch.f90", FORTRAN),
                                (args.mpifort, "OMPI_FC", "gfortran", "members.f90", FORTRAN_MEMBERS)])
        elif subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], stderr=subprocess.DEVNULL).returncode == 0:
            test.run("Python", ["/usr/bin/python3", os.path.join(HERE, "variables", "branch.py")], PYTHON)
            members = ["/usr/bin/python3", os.path.join(HERE, "variables", "members.py")]
            for function, always in PYTHON_OTHERS.items():
                test.run("Python " + function, members, always, [function])
            test.run("Python properties", members, set(), ["properties"], unshown="solver.computed")
        print("%d variables, %d values" % (test.shown, test.judged))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
