#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a fault program or its control bare, as a real MPI job, and attaches to it.

A fault must be found as its source's header specifies: culprits, and the lines of the culprits. Before the job hangs,
attach must report nothing. In a control it must never report anything, however often it samples the job, whose exit
code and output must be those of a run without attach.
"""

import json
import os
import subprocess
import sys
import time

import expectations
import jobs

PATIENCE_S = 90
NOTHING_FOUND, FINDINGS = 0, 1


def fail(text):
    print("FAIL " + text)
    sys.exit(1)


def attach(rollcall, pid):
    """Returns the verdict of one attach; None if no rank was found."""
    done = subprocess.run([rollcall, "attach", "--pid", str(pid), "--json", "-"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    if done.returncode not in (NOTHING_FOUND, FINDINGS):
        return None
    return json.loads(done.stdout)


def lines_of(finding):
    return {line["line"] for line in finding["lines"] if line["role"] == "culprit"}


def test_fault(args, variant, command):
    wanted = variant.findings[0]
    with jobs.Job(command) as job:
        deadline = time.monotonic() + PATIENCE_S
        findings = []
        while not findings and time.monotonic() < deadline:
            verdict = attach(args.rollcall, job.pid())
            findings = verdict["findings"] if verdict else []
        if not job.running():
            fail("the job ended")
    if not findings:
        fail("nothing was found in %d s" % PATIENCE_S)
    finding = findings[0]
    culprits = wanted["attach-culprits"]
    if finding["culprits"] != culprits:
        fail("culprits %s instead of %s: %s" % (finding["culprits"], culprits, finding["title"]))
    # Headers of MPI programs specify the kind that is found from recorded calls.
    kind = wanted.get("attach-kind", wanted["kind"])
    if args.mpi == "torch" and finding["kind"] != kind:
        fail("kind %s instead of %s" % (finding["kind"], kind))
    if finding["certainty"] == "proven":
        fail("a stack proves nothing")
    marked = set(wanted["lines"].get("culprit", []))
    if marked and not marked & lines_of(finding):
        fail("lines %s instead of %s" % (lines_of(finding), marked))
    print("ok   %s %s" % (finding["kind"], finding["certainty"]))


def test_control(args, variant, command):
    with jobs.Job(command) as job:
        bare_code = job.wait()
        bare_output = sorted(job.stdout().splitlines())
    looks = 0
    with jobs.Job(command) as job:
        while job.running():
            verdict = attach(args.rollcall, job.pid())
            looks += verdict is not None
            if verdict and verdict["findings"]:
                fail("accused: " + verdict["findings"][0]["title"])
        code, output = job.wait(), sorted(job.stdout().splitlines())
    if code != bare_code or output != bare_output:
        fail("it ended with %s instead of %s, or its output differs" % (code, bare_code))
    print("ok   %d looks" % looks)


def main():
    args = jobs.arguments_of_test(__doc__, expectations.MPIS, "--control")
    os.environ.setdefault("UCX_LOG_LEVEL", "fatal")
    variant = expectations.read(args.source, args.mpi)[0]
    program = [args.program]
    if args.program.endswith(".py"):
        program = ["/usr/bin/python3", args.program] + ([] if args.control else ["--fault"])
    command = jobs.launcher(args.mpi, variant.ranks, variant.launcher_args) + program + variant.program_args
    (test_control if args.control else test_fault)(args, variant, command)


if __name__ == "__main__":
    main()
