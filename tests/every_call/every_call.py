#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests every function of proto/functions.def in a real and healthy job.

run: runs one program of this directory under rollcall. Its output must be the same as without, with no finding. Each
process must have a ring, which holds each call as often as the process made it.

coverage: checks that a program calls every function, plain and large, that the MPI library exports.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import expectations  # noqa: E402
import jobs  # noqa: E402
import run_job_test  # noqa: E402
import wrapped  # noqa: E402

# Kinds that never wait and on which no call waits: the shim keeps them in tables, and the ring holds no record.
UNRECORDED = {"NameComm", "MakeHandle", "FreeHandle", "Query", "GetParent", "RequestFree"}
# A healthy job does not call MPI_Abort: tests/isolation and tests/faults/death do.
ELSEWHERE = {"MPI_Abort"}
# Debian's MPICH exports the functions for other jobs, but its UCX netmod fails ("not supported with ucx netmod").
REFUSED = {"mpich": {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept",
                     "MPI_Comm_connect", "MPI_Comm_join"}}


def recorded_as(function):
    """Returns the name under which the ring records the function."""
    return re.sub("^MPIX_", "MPI_", re.sub("_c$", "", function))


def read_calls(path):
    """Returns the calls that the ring of a process must hold, from the counts that the process wrote (every_call.h)."""
    unrecorded = {"MPI_" + name for name, kind, _, _ in wrapped.table() if kind in UNRECORDED}
    calls = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            function, count = line.split()
            if recorded_as(function) not in unrecorded:
                calls[recorded_as(function)] += int(count)
    return dict(calls)


def check_rings(args, run, notes):
    out = subprocess.run([args.summary, run], capture_output=True, text=True, check=True).stdout
    rings = [json.loads(line) for line in out.splitlines()]
    for ring in rings:
        if not ring["usable"]:
            raise run_job_test.Failure("not a ring: %s" % ring)
    recorded = {str(ring["pid"]) for ring in rings}
    ran = set(os.listdir(notes))
    # As many processes ran before without rollcall.
    if not recorded <= ran or 2 * len(recorded) != len(ran):
        raise run_job_test.Failure("processes %s ran, half of them recorded, and %s have a ring" % (
            sorted(ran), sorted(recorded)))
    for ring in rings:
        made = read_calls(os.path.join(notes, str(ring["pid"])))
        for function in sorted(set(made) | set(ring["calls"])):
            pair = made.get(function, 0), ring["calls"].get(function, 0)
            if pair[0] != pair[1]:
                raise run_job_test.Failure("process %d made %d calls of %s, and its ring has %d" % (
                    ring["pid"], pair[0], function, pair[1]))
        for what in ("open", "torn", "nested", "open_requests", "wrong_sums"):
            if ring[what]:
                raise run_job_test.Failure("%s: %d in %s" % (what, ring[what], ring))
    return len(rings)


def run(args):
    variant = expectations.Variant({"ranks": "2"})
    directory = jobs.make_directory()
    notes = os.path.join(directory, "notes")
    os.mkdir(notes)
    os.environ["EVERY_CALL_DIR"] = notes
    try:
        run_job_test.test_control(args, variant, directory)
        print("%d rings hold every call" % check_rings(args, os.path.join(directory, "run"), notes))
        return 0
    except run_job_test.Failure as failure:
        print("FAIL %s" % failure)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def coverage(args):
    programs = [os.path.join(args.programs, name) for name in os.listdir(args.programs)]
    called = set().union(*(wrapped.symbols(program, "--undefined-only") for program in programs))
    libraries = subprocess.run(["ldd", programs[0]], capture_output=True, text=True, check=True)
    library = re.search(r"libmpi(?:ch)?\.so\S* => (\S+)", libraries.stdout).group(1)
    there = wrapped.symbols(library, "--defined-only") - ELSEWHERE - REFUSED.get(args.mpi, set())
    wanted = there & set(wrapped.functions())
    missing = sorted(wanted - called)
    for name in missing:
        print("FAIL no program of %s calls %s, which %s has" % (HERE, name, library))
    print("%d of %d functions are called" % (len(wanted & called), len(wanted)))
    return 1 if missing or len(wanted) < 150 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), required=True)
    parser.add_argument("--rollcall")
    parser.add_argument("--summary", help="the ring_summary program")
    parser.add_argument("--program")
    parser.add_argument("--source", help="of --program")
    parser.add_argument("--programs", help="a directory of all: check that they call everything")
    args = parser.parse_args()
    return coverage(args) if args.programs else run(args)


if __name__ == "__main__":
    sys.exit(main())
