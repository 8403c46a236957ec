#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests one case of `rollcall check` on real Open MPI jobs: exit code, findings, and outputs.

Lines are found by the markers in the sources.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import expectations  # noqa: E402
import jobs  # noqa: E402

NOTHING, FINDINGS, USAGE, JOB_FAILED = 0, 1, 2, 3
LEFTOVERS = os.path.join(HERE, "leftovers.c")


class Failure(Exception):
    """The case failed; the text says how."""


class Outcome:
    """The result of one run of `rollcall check`."""

    def __init__(self, job, code, directory):
        self.job, self.code, self.directory = job, code, directory
        self.stdout, self.stderr = job.stdout(), job.stderr()

    def require(self, condition, what):
        if not condition:
            raise Failure("%s\n--- command: %s\n--- exit code: %s\n--- stdout:\n%s--- stderr:\n%s" % (
                what, " ".join(self.job.command), self.code, self.stdout, self.stderr))

    def ends(self, code):
        self.require(self.code == code, "exit code is not %d" % code)
        return self

    def path(self, name):
        return os.path.join(self.directory, name)

    def verdict(self):
        with open(self.path("verdict.json"), encoding="utf-8") as file:
            return json.load(file)

    def finds(self, *kinds):
        found = [finding["kind"] for finding in self.verdict()["findings"]]
        self.require(found == list(kinds), "found %s instead of %s" % (found, list(kinds)))
        return self.verdict()["findings"][0] if kinds else None


class Scene:
    def __init__(self, args, directory):
        self.args, self.directory = args, directory

    def check(self, command, *options, ranks=3):
        """Runs `command` as a job under check, with every output."""
        # These variables of CI services would change the root of source paths.
        words = ["env", "-u", "GITHUB_WORKSPACE", "-u", "CI_PROJECT_DIR",
                 self.args.rollcall, "check", "--color=never", "--source-root", ROOT]
        for kind, name in (("json", "verdict.json"), ("sarif", "a.sarif"), ("junit", "a.xml"),
                           ("github", "github.txt")):
            words += ["--output", "%s=%s" % (kind, os.path.join(self.directory, name))]
        words += list(options) + ["--"] + jobs.launcher("openmpi", ranks) + command
        with jobs.Job(words) as job:
            code = job.wait()
            return Outcome(job, code, self.directory)

    def leftovers(self, mode, *options, ranks=3):
        return self.check([self.args.leftovers, mode], *options, ranks=ranks)

    def fault(self, name, *options, ranks=4, control=False):
        program = os.path.join(self.args.faults, name + (".control" if control else ".fault"))
        return self.check([program], *options, ranks=ranks)


def source_of(name):
    return os.path.join(ROOT, "tests", "faults", name)


def marked(path, marker):
    with open(path, encoding="utf-8") as source:
        lines = [number for number, line in enumerate(source, 1)
                 if re.search(r"//.*@%s\b" % marker, line) and not line.startswith("//")]
    if len(lines) != 1:
        raise Failure("marker %s stands in %d lines of %s" % (marker, len(lines), path))
    return lines[0]


def check_outputs(outcome, path, marker, kind):
    """Checks that all outputs of one finding name the same line and are valid by their schemas."""
    line, name = marked(path, marker), os.path.relpath(path, ROOT)
    with open(outcome.path("a.sarif"), encoding="utf-8") as file:
        results = json.load(file)["runs"][0]["results"]
    outcome.require(len(results) == 1 and results[0]["ruleId"] == kind, "SARIF: %s" % results)
    place = results[0]["locations"][0]["physicalLocation"]
    outcome.require(place["artifactLocation"] == {"uri": name, "uriBaseId": "SRCROOT"}, "SARIF: %s" % place)
    outcome.require(place["region"]["startLine"] == line, "SARIF: %s instead of line %d" % (place, line))
    with open(outcome.path("github.txt"), encoding="utf-8") as file:
        annotation = file.read()
    begin = "::error file=%s,line=%d,title=rollcall%%3A %s::" % (name, line, kind)
    outcome.require(annotation.startswith(begin), "GitHub: " + annotation)
    with open(outcome.path("a.xml"), encoding="utf-8") as file:
        junit = file.read()
    outcome.require('<failure type="%s"' % kind in junit, "JUnit: " + junit)
    valid = subprocess.run(
        ["/usr/bin/python3", os.path.join(ROOT, "tests", "schemas", "validate.py"),
         outcome.path("a.sarif"), outcome.path("a.xml")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    outcome.require(valid.returncode in (0, 77), valid.stdout + valid.stderr)


def hang(scene):
    """A hang is found, rollcall ends the job, and every output names the line."""
    name = "collective/barrier_skipped_by_rank0.c"
    outcome = scene.fault(name).ends(FINDINGS)
    kind = "rank-conditional-collective"
    finding = outcome.finds(kind)
    outcome.require(finding["certainty"] == "proven" and finding["culprits"] == [0], str(finding))
    outcome.require(outcome.verdict()["job"]["ended_by_rollcall"], "the job ended by itself")
    check_outputs(outcome, source_of(name), "culprit", kind)
    scene.fault(name, control=True).ends(NOTHING).finds()


def silent_mismatch(scene):
    """A job that finishes, with a wrong reduction on one rank."""
    name = "arguments/op_mismatch_silent.c"
    variant = expectations.read(source_of(name), "openmpi")[0]
    scene.fault(name, ranks=variant.ranks).ends(FINDINGS).finds("op-mismatch")
    scene.fault(name, ranks=variant.ranks, control=True).ends(NOTHING).finds()


def buffering(scene):
    """A ring of sends that completes by buffering only; the baseline accepts it."""
    name = "advice/ring_of_small_sends.c"
    outcome = scene.fault(name, ranks=3).ends(FINDINGS)
    outcome.finds("p2p-deadlock")
    check_outputs(outcome, source_of(name), "culprit", "p2p-deadlock")
    baseline = os.path.join(scene.directory, "baseline")
    with open(baseline, "w", encoding="utf-8") as file:
        file.write("p2p-deadlock at advice/*.c because the ring stays small\n"
                   "desync in main because nobody remembers\n")
    known = scene.fault(name, "--baseline", baseline, ranks=3).ends(NOTHING)
    finding = known.finds("p2p-deadlock")
    known.require((finding["weight"], finding["reason"]) == ("known", "the ring stays small"), str(finding))
    known.require("baseline:2: matched no finding: desync in main" in known.stderr, "the unused entry is not named")
    scene.fault(name, ranks=3, control=True).ends(NOTHING).finds()


def left_behind(scene):
    """Messages and collectives in which some ranks did not take part."""
    finding = scene.leftovers("message").ends(FINDINGS).finds("p2p-unmatched")
    line = [site["line"] for site in finding["lines"]]
    if line != [marked(LEFTOVERS, "message")]:
        raise Failure("lines are %s" % line)
    bundle = os.path.join(scene.directory, "job.zst")
    outcome = scene.leftovers("broadcast", "--bundle", bundle).ends(FINDINGS)
    finding = outcome.finds("rank-conditional-collective")
    if (finding["operation"], finding["culprits"]) != ("MPI_Bcast", [0]):
        raise Failure(str(finding))
    shown = subprocess.run([scene.args.rollcall, "show", bundle], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
    outcome.require(shown.returncode == 0 and "MPI_Bcast" in shown.stdout, "the bundle has not\n" + shown.stdout)
    scene.leftovers("broadcast", "--fail-on=p2p-unmatched").ends(NOTHING)


def notes(scene):
    """Leaks are notes, and fail the check only on request."""
    for mode in ("request", "communicator"):
        bundle = os.path.join(scene.directory, "job.zst")
        outcome = scene.leftovers(mode, "--bundle", bundle).ends(NOTHING)
        outcome.require(not os.path.exists(bundle), "a bundle of what passes")
        finding = outcome.finds(mode + "-leak")
        outcome.require([site["line"] for site in finding["lines"]] == [marked(LEFTOVERS, mode)], str(finding))
        outcome.require(finding["weight"] == "note" and "  note   " in outcome.stderr, "it is no note")
    scene.leftovers("request", "--fail-on=errors,request-leak").ends(FINDINGS)


def call_sites(scene):
    """One collective from two call sites of a correct program is a note, on request."""
    true_negative = "true_negatives/both_arms.c"
    scene.fault(true_negative, control=True).ends(NOTHING).finds()
    outcome = scene.fault(true_negative, "--call-sites", control=True).ends(NOTHING)
    kinds = [finding["kind"] for finding in outcome.verdict()["findings"]]
    outcome.require(kinds and set(kinds) == {"divergent-call-sites"}, "found %s" % kinds)
    outcome.require("  note   " in outcome.stderr, "it is no note")


def healthy(scene):
    """Correct programs have no findings."""
    for mode in ("clean", "wildcards"):
        scene.leftovers(mode).ends(NOTHING).finds()


def data_is_read(scene):
    """With --data, the report says how much was read, and why the rest was not."""
    name = "data/nan_loss.c"
    ranks = expectations.read(source_of(name), "openmpi")[0].ranks
    outcome = scene.fault(name, "--data=full", ranks=ranks, control=True).ends(NOTHING)
    read = outcome.verdict()["data"]
    outcome.require(read["buffers_read"] > 0 and read["buffers_unread"] == 0, str(read))
    outcome.require("· %d buffers read" % read["buffers_read"] in outcome.stderr, "the report does not say so")
    # A name that no communicator has: the fault is not seen, and the report tells.
    outcome = scene.fault(name, "--data=full", "--data-scope=misspelled", ranks=ranks).ends(NOTHING)
    read = outcome.verdict()["data"]
    outcome.require(read["buffers_read"] == 0 and read["calls_outside_scope"] > 1, str(read))
    outcome.require("· 0 buffers read" in outcome.stderr, "the report does not say so")
    note = "no call is in --data-scope, and %d outside" % read["calls_outside_scope"]
    outcome.require(note in outcome.verdict()["notes"], "no note " + note)
    outcome = scene.fault(name, ranks=ranks, control=True).ends(NOTHING)
    outcome.require("data" not in outcome.verdict() and "buffer" not in outcome.stderr, "without --data")


def fails_by_itself(scene):
    """A job that fails without a finding has a separate exit code."""
    outcome = scene.leftovers("fails").ends(JOB_FAILED)
    outcome.finds()
    outcome.require("exit code 7" in outcome.stderr, "its code is not said")
    with open(outcome.path("a.xml"), encoding="utf-8") as file:
        outcome.require('errors="1"' in file.read(), "JUnit has no error")


def out_of_time(scene):
    """--timeout ends the job; a slow rank is not a culprit."""
    started = time.monotonic()
    outcome = scene.leftovers("late", "--timeout", "2", ranks=2).ends(FINDINGS)
    finding = outcome.finds("timed-out")
    outcome.require(finding["culprits"] == [] and finding["lines"], str(finding))
    outcome.require(time.monotonic() - started < 30, "it was not ended")



def out_of_time_while_it_moves(scene):
    """--timeout ends a job that makes progress: ranks that wait at that moment are not reported as hanging."""
    outcome = scene.leftovers("serves", "--timeout", "3", ranks=2).ends(FINDINGS)
    finding = outcome.finds("timed-out")
    outcome.require(finding["hangs"] is False, str(finding))


def out_of_time_while_one_sleeps(scene):
    """At the end of --timeout, a rank that slept for 30 s while others waited is suspected."""
    source = source_of("stalled/asleep_in_read.c")
    finding = scene.fault("stalled/asleep_in_read.c", "--timeout", "36", ranks=3).ends(FINDINGS).finds("rank-stalled")
    outcome = (finding["certainty"], finding["culprits"], {line["line"] for line in finding["lines"]})
    expected = ("suspected", [0], {marked(source, "culprit"), marked(source, "waiting")})
    if outcome != expected:
        raise Failure("%s instead of %s" % (outcome, expected))


CASES = {case.__name__: case for case in (
    hang, silent_mismatch, buffering, left_behind, notes, call_sites, healthy, data_is_read, fails_by_itself,
    out_of_time, out_of_time_while_it_moves, out_of_time_while_one_sleeps)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True, help="the rollcall command")
    parser.add_argument("--leftovers", required=True, help="leftovers.c, built with Open MPI")
    parser.add_argument("--faults", required=True, help="where the fault programs of Open MPI are")
    parser.add_argument("case", choices=sorted(CASES))
    args = parser.parse_args()
    directory = jobs.make_directory()
    try:
        CASES[args.case](Scene(args, directory))
    except Failure as failure:
        print("FAILED: %s" % failure)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
