# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of this directory under one interpreter with librollcall.so preloaded.

Each is a separate process, an MPI singleton, that compares its recorded stacks with those that Python reports.
It prints "ok", or exits with 77 if it does not apply.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
CASES = ["shapes", "churn", "corrupt", "finalize", "exceptions", "forks", "subinterpreters", "context", "quiet", "linked",
         "embedding", "asked"]
SKIPPED = 77


def run(case, options, directory, scratch):
    environment = dict(os.environ, LD_PRELOAD=options.shim, ROLLCALL_DIR=directory, PYTHONDONTWRITEBYTECODE="1",
                       # All singletons of Open MPI create and remove a directory of the same name in TMPDIR.
                       TMPDIR=scratch,
                       ROLLCALL_TEST_MPI=options.mpi, ROLLCALL_TEST_HELPER=options.helper,
                       ROLLCALL_TEST_EMBEDDING=options.embedding,
                       # Open MPI starts no daemon and uses no network.
                       OMPI_MCA_ess_singleton_isolated="1", OMPI_MCA_btl="self")
    if case == "asked":
        environment["ROLLCALL_PYTHON"] = "0"
    if options.calls:
        environment["ROLLCALL_TEST_CALLS"] = str(options.calls)
    script = {"asked": "outdated"}.get(case, case)
    done = subprocess.run([options.python, os.path.join(DIRECTORY, script + ".py")], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=DIRECTORY,
                          timeout=options.timeout)
    said = done.stdout.count("no Python frames are recorded")
    if done.returncode == SKIPPED:
        return "skipped", done.stdout
    if done.returncode != 0 or not done.stdout.rstrip().split("\n")[-1].startswith("ok"):
        return "FAILED (%d)" % done.returncode, done.stdout
    if said != (1 if case == "outdated" else 0):
        return "FAILED: %d lines about Python frames" % said, done.stdout
    return "ok", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("shim", "python", "mpi", "helper", "embedding"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--calls", type=int)
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    failed = False
    for case in options.cases:
        directory = tempfile.mkdtemp(prefix="rollcall-python-", dir="/dev/shm")
        scratch = tempfile.mkdtemp(prefix="rollcall-python-")
        try:
            result, output = run(case, options, directory, scratch)
        except subprocess.TimeoutExpired as late:
            result, output = "FAILED: hangs", str(late.stdout)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
            shutil.rmtree(scratch, ignore_errors=True)
        print("%-16s %s" % (case, result), flush=True)
        if result.startswith("FAILED"):
            failed = True
            print(output, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
