#!/usr/bin/env python3
"""A page shows verdicts that the program really prints: runs each again and compares.

    shown_verdicts.py --rollcall BIN --programs DIR --page FILE [--update]

A verdict stands in the page as

    <!-- verdict: tests/faults/collective/barrier_skipped_by_rank0.c -->
    ```
    ...
    ```
    <!-- /verdict -->

The source's header says how to start the program (../jobs/expectations.py); its fault lies in DIR, built with
Open MPI. --update writes what is printed into the page. Left out of both sides is what differs from run to run:
durations, and the order of lines.
"""

import argparse
import difflib
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "jobs"))

import expectations  # noqa: E402
import jobs  # noqa: E402

BLOCK = re.compile(r"(<!-- verdict: (\S+) -->\n```\n)(.*?)(\n```\n<!-- /verdict -->)", re.DOTALL)
VERDICT = re.compile(r"^rollcall: (?:hung|failed|finished), .*?(?=^rollcall: (?:ends|traces)|\Z)",
                     re.MULTILINE | re.DOTALL)
DURATION = re.compile(r"\b[0-9.]+ (?:s|ms|%)(?=\W|$)")


def printed_verdict(rollcall, programs, source):
    """What the faulty job's run prints as its last verdict, without remarks about the run itself."""
    variant = expectations.read(os.path.join(ROOT, source), "openmpi")[0]
    program = os.path.join(programs, os.path.relpath(source, "tests/faults") + ".fault")
    command = [rollcall, "run", "--on-hang=kill", "--color=never"]
    if variant.stall_after:
        command += ["--stall-after", variant.stall_after]
    command += ["--", *jobs.launcher("openmpi", variant.ranks, variant.launcher_args), program,
                *variant.program_args]
    with jobs.Job(command) as job:
        if job.wait() is None:
            sys.exit("%s: still running after %d s" % (source, jobs.JOB_TIMEOUT_S))
        verdicts = VERDICT.findall(job.stdout() + job.stderr())
        if not verdicts:
            sys.exit("%s: no verdict:\n%s%s" % (source, job.stdout(), job.stderr()))
        return verdicts[-1].rstrip()


def comparable(text):
    return sorted(DURATION.sub("N", text).splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--page", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.page, encoding="utf-8") as file:
        page = file.read()
    differences = []

    def check(block):
        printed = printed_verdict(arguments.rollcall, arguments.programs, block.group(2))
        differences.extend(difflib.unified_diff(
            comparable(block.group(3)), comparable(printed), arguments.page, block.group(2),
            lineterm=""))
        return block.group(1) + printed + block.group(4)

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
