#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a fault program or its control bare, as a real MPI job, aborts its ranks, and analyzes their core files.

A fault must be found as its source's header specifies (culprits and the lines of the culprits), but at most as
suspected. The same holds for findings in cores of a control, which is aborted as soon as its ranks exist: one sample
cannot distinguish a healthy job from a hanging one, but no rank may be reported as dead.
"""

import json
import os
import shutil
import subprocess
import sys
import time

import expectations
import jobs

PATIENCE_S = 90
# Each rank runs in a directory of its own, into which the kernel writes its core.
IN_DIRECTORY = 'cd "$0/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$RANK}}" && ulimit -c unlimited && exec "$@"'


def fail(text):
    print("FAIL " + text)
    sys.exit(1)


def kernel_writes_files():
    """Returns whether the kernel writes cores into the working directory, whatever their names."""
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as pattern:
        return not set(pattern.read().strip()) & set("|/")


def attach(rollcall, *options):
    """Returns the verdict (None if no rank was found) and standard error."""
    done = subprocess.run([rollcall, "attach", "--json", "-", *options], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    if done.returncode not in (0, 1):
        return None, done.stderr.decode()
    return json.loads(done.stdout), done.stderr.decode()


def wait_for(args, job, ranks):
    """Waits until the job hangs; for a control, until all its ranks exist. Samples the running job."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and job.running():
        options = ["--between", "0.05", "--confirm", "0"] if args.control else []
        verdict, _ = attach(args.rollcall, "--pid", str(job.pid()), *options)
        if verdict and (args.control or verdict["findings"]) and verdict["ranks"] == ranks:
            return verdict
    return fail("the job ended, or nothing was found in %d s" % PATIENCE_S)


def collect_cores(directory, ranks):
    """Moves the cores of all ranks into one directory, which it returns."""
    cores = os.path.join(directory, "cores")
    os.mkdir(cores)
    for rank in range(ranks):
        own = os.path.join(directory, str(rank))
        names = os.listdir(own)
        if not names:
            fail("rank %d left no core" % rank)
        for name in names:
            os.rename(os.path.join(own, name), os.path.join(cores, "%d.%s" % (rank, name)))
    return cores


def check(args, wanted, live, verdict):
    for finding in verdict["findings"]:
        if finding["certainty"] not in ("suspected", "inconclusive"):
            fail("%s: one look tells less" % finding["certainty"])
        if finding["kind"] == "rank-died":
            fail("a watchdog's signal is no death: " + finding["title"])
    if args.control:
        print("ok   %d findings" % len(verdict["findings"]))
        return
    if not verdict["findings"]:
        fail("nothing was found")
    finding = verdict["findings"][0]
    if finding["culprits"] != wanted["culprits"]:
        fail("culprits %s instead of %s: %s" % (finding["culprits"], wanted["culprits"], finding["title"]))
    if finding["kind"] != live["findings"][0]["kind"]:
        fail("kind %s, and %s of the living job" % (finding["kind"], live["findings"][0]["kind"]))
    marked = set(wanted["lines"].get("culprit", []))
    named = {line["line"] for line in finding["lines"] if line["role"] == "culprit"}
    if marked and not marked & named:
        fail("lines %s instead of %s" % (named, marked))
    print("ok   %s %s" % (finding["kind"], finding["certainty"]))


def run(args, directory):
    variant = expectations.read(args.source, args.mpi)[0]
    for rank in range(variant.ranks):
        os.mkdir(os.path.join(directory, str(rank)))
    program = [args.program]
    if args.program.endswith(".py"):
        program = ["/usr/bin/python3", args.program] + ([] if args.control else ["--fault"])
    program += variant.program_args
    command = jobs.launcher(args.mpi, variant.ranks, variant.launcher_args)
    with jobs.Job(command + ["sh", "-c", IN_DIRECTORY, directory] + program) as job:
        live = wait_for(args, job, variant.ranks)
        job.abort_ranks(program[0])
    cores = collect_cores(directory, variant.ranks)
    verdict, problems = attach(args.rollcall, "--core", cores)
    if verdict is None or verdict["ranks"] != variant.ranks or problems:
        fail("not all cores could be read: " + problems)
    check(args, variant.findings[0] if variant.findings else None, live, verdict)


def main():
    args = jobs.arguments_of_test(__doc__, expectations.MPIS, "--control")
    if not kernel_writes_files():
        print("core_pattern is no plain file name")
        sys.exit(jobs.SKIPPED)
    os.environ.setdefault("UCX_LOG_LEVEL", "fatal")
    # On disk: a core can be larger than /dev/shm.
    directory = os.path.realpath(jobs.tempfile.mkdtemp(prefix="rollcall-cores-"))
    try:
        run(args, directory)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
