#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one program of tests/schedules/programs under `rollcall check --schedules`.

Its header comment says what must be found:

    schedules-test: ranks=N finds=RESULT[,RESULT] [by=STEERING] [schedules=N] [first=fails]

RESULT is what one of the rows must say. STEERING is the first word of the plan that brought it about, if it must be a
certain one. first=fails: the records of the first run show the fault already. A control must pass, whatever is tried.
With --rules, the program checks MPI's rules itself, and must pass under every plan.
"""

import argparse
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402

NOTHING, FINDINGS, JOB_FAILED = 0, 1, 3
BAD = ("hang", "findings", "failed")
TITLES = {"synchronous": "standard sends wait", "barriers": "collectives wait", "first": " receives message "}
# A run that hangs by chance, without steering, shows nothing about the steering.
TRIES = 3


class Failure(Exception):
    """The test failed; the text says how."""


def expectations(source):
    with open(source, encoding="utf-8") as file:
        line = re.search(r"^(?://|!)\s*schedules-test:(.*)$", file.read(), re.M).group(1)
    return dict(word.split("=", 1) for word in line.split())


class Outcome:
    def __init__(self, job, code, path):
        self.code, self.out, self.err, self.rows, self.findings = code, job.stdout(), job.stderr(), [], []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                verdict = json.load(file)
            self.rows, self.findings = verdict.get("schedules", []), verdict["findings"]

    def require(self, condition, what):
        if not condition:
            raise Failure("%s\n--- exit code %s\n--- stdout:\n%s--- stderr:\n%s" % (what, self.code, self.out, self.err))


def check(args, program, ranks, *options, words=()):
    with tempfile.TemporaryDirectory(prefix="rollcall-schedules-") as directory:
        path = os.path.join(directory, "verdict.json")
        command = [args.rollcall, "check", "--color=never", "--kill-after=2", "--stall-after=5", "--json", path]
        command += list(options) + ["--"] + jobs.launcher(args.mpi, ranks) + [program] + list(words)
        with jobs.Job(command) as job:
            return Outcome(job, job.wait(), path)


def test_fault(args, wanted):
    ranks = int(wanted["ranks"])
    for _ in range(TRIES):
        outcome = check(args, args.program, ranks, "--schedules", wanted.get("schedules", "6"))
        if outcome.rows:
            break
    bad = [row for row in outcome.rows if row["result"] in BAD]
    if wanted.get("first") == "fails":
        outcome.require(outcome.code == FINDINGS and not outcome.rows, "the first run shows no finding")
        return
    outcome.require(outcome.code in (FINDINGS, JOB_FAILED), "nothing was found")
    bad = [row for row in bad if TITLES.get(wanted.get("by"), "") in row["title"]]
    outcome.require(bad, "no row of the steering %s" % wanted.get("by"))
    outcome.require(bad[0]["result"] in wanted["finds"].split(","), "the row says %s" % bad[0]["result"])
    kept = [row for row in outcome.rows if row["plan"]]
    outcome.require(kept, "no plan was kept")
    again = check(args, args.program, ranks, "--replay", kept[0]["plan"])
    again.require(again.code in (FINDINGS, JOB_FAILED), "the replay of %s found nothing" % kept[0])
    again.require("this run was steered: " + kept[0]["title"] in again.err, "the verdict does not name the steering")


def test_control(args, wanted):
    outcome = check(args, args.program, int(wanted["ranks"]), "--schedules", wanted.get("schedules", "6"))
    outcome.require(outcome.code == NOTHING and outcome.rows, "the control does not pass")
    outcome.require(not [row for row in outcome.rows if row["result"] in BAD], "a row accuses the control")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--control", action="store_true")
    args = parser.parse_args()
    try:
        wanted = expectations(args.source)
        (test_control if args.control else test_fault)(args, wanted)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
