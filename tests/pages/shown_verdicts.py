#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the verdicts shown in a page with what the program prints when they are run again.

    shown_verdicts.py [--rollcall BIN] [--programs DIR] --page FILE [--update]

A verdict has this form in the page:

    <!-- verdict: tests/faults/collective/barrier_skipped_by_rank0.c -->
    ```
    ...
    ```
    <!-- /verdict -->

The source's header specifies how to start the program (../jobs/expectations.py). Its fault is built in
DIR/faults/openmpi or DIR/nccl_sim; the default is build/release. --update writes the output into the page. Durations,
the order of lines, and when a silent mismatch was detected differ between runs and are not compared. A program that prints
something else is run again, at most TRIES times: on a machine that is busy, a value may not be read in time.
"""

import argparse
import difflib
import os
import re
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "jobs"))

import expectations  # noqa: E402
import jobs  # noqa: E402

BLOCK = re.compile(r"(<!-- verdict: (\S+) -->\n```\n)(.*?)(\n?```\n<!-- /verdict -->)", re.DOTALL)
VERDICT = re.compile(r"^rollcall: \w+, (?:proven|likely|suspected|inconclusive|nothing found) .*?"
                     r"(?=^rollcall: (?:ends|traces|check|\w+, )|\Z)", re.MULTILINE | re.DOTALL)
POLL_S = 0.02
TRIES = 3
VARIES = (
    (re.compile(r"( · no progress for)? [0-9.]+ ?(s|ms|%)(?=\W|$)"), ""),
    # A fault that does not hang is reported when it is detected: while the job runs, or at its end.
    (re.compile(r"^rollcall: (running|stopped|finished), "), "rollcall: finished, "),
    (re.compile(r" · [0-9]+ buffers? read"), " · N buffers read"),
    (re.compile(r"arrived last at [0-9]+ of [0-9]+"), "arrived last at N of N"),
    (re.compile(r"between #[0-9]+ and #[0-9]+"), "between #A and #B"),
    # Names of the C library's frames need its debug information, which is missing on most machines.
    (re.compile(r", CPU: .*"), ", CPU: stack"),
)


def launched(programs, source):
    """Returns the variant of the source's fault and the command that starts it."""
    below = os.path.relpath(source, "tests/faults")
    mpi = {"nccl": "fork", "torch": "torch"}.get(below.partition("/")[0], "openmpi")
    variant = expectations.read(os.path.join(ROOT, source), mpi)[0]
    if mpi == "torch":
        return variant, [*jobs.launcher(mpi, variant.ranks), "/usr/bin/python3", os.path.join(ROOT, source), "--fault"]
    stem = os.path.splitext(os.path.basename(source))[0]
    program = (os.path.join(programs, "nccl_sim", "nccl_%s_fault" % stem) if mpi == "fork"
               else os.path.join(programs, "faults", mpi, below + ".fault"))
    if not os.path.exists(program):
        sys.exit("%s is not built" % program)
    return variant, [*jobs.launcher(mpi, variant.ranks, variant.launcher_args), program,
                     *variant.program_args]


def program_of(job):
    return next(word for word in job if word.endswith(".fault"))


def output_of(command, source, hangs=False):
    """Returns the whole output: until the end, or until the verdict of a job that hangs."""
    with jobs.Job(command) as job:
        deadline = time.monotonic() + jobs.JOB_TIMEOUT_S
        while job.running() and not (hangs and VERDICT.search(job.stderr())):
            if time.monotonic() > deadline:
                sys.exit("%s: still running after %d s" % (source, jobs.JOB_TIMEOUT_S))
            time.sleep(POLL_S)
        return job.stdout() + job.stderr()


def printed_verdict(rollcall, programs, source):
    """Returns the last verdict on the faulty job, without remarks about the run itself: the live one, or that of
    `analyze --also` or `check` for findings that only these make."""
    variant, job = launched(programs, source)
    with tempfile.TemporaryDirectory() as directory:
        run = os.path.join(directory, "run")
        if variant.check is None:
            command = [rollcall, "run"]
        else:
            command = [rollcall, "check", "--kill-after", "1", *variant.check]
        command += ["--color=never", "--dir", run]
        if variant.stall_after:
            command += ["--stall-after", variant.stall_after]
        if variant.data:
            command += ["--data=" + variant.data]
        command += ["--", *job]
        if variant.preload:
            library = os.path.join(os.path.dirname(program_of(job)), variant.preload + ".so")
            command = ["env", "LD_PRELOAD=" + library, *command]
        output = output_of(command, source,
                           hangs=variant.check is None and variant.outcome == "hung")
        if variant.also:
            output = output_of([rollcall, "analyze", "--color=never", "--also", variant.also, run],
                               source)
    verdicts = VERDICT.findall(output)
    if not verdicts:
        sys.exit("%s: no verdict:\n%s" % (source, output))
    return verdicts[-1].rstrip()


def comparable(text):
    for varying, constant in VARIES:
        text = varying.sub(constant, text)
    return sorted(text.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", default=os.path.join(ROOT, "build/release/bin/rollcall"))
    parser.add_argument("--programs", default=os.path.join(ROOT, "build/release/tests"))
    parser.add_argument("--page", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.page, encoding="utf-8") as file:
        page = file.read()
    differences = []

    def check(block):
        for _ in range(TRIES):
            printed = printed_verdict(arguments.rollcall, arguments.programs, block.group(2))
            if arguments.update or comparable(printed) == comparable(block.group(3)):
                break
        differences.extend(difflib.unified_diff(
            comparable(block.group(3)), comparable(printed), arguments.page, block.group(2),
            lineterm=""))
        return block.group(1) + printed + "\n" + block.group(4).lstrip("\n")

    updated, shown = BLOCK.subn(check, page)
    if not shown:
        sys.exit("%s: shows no verdict" % arguments.page)
    if arguments.update:
        with open(arguments.page, "w", encoding="utf-8") as file:
            file.write(updated)
    elif differences:
        sys.exit("\n".join(differences))


if __name__ == "__main__":
    main()
