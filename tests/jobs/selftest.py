#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the modules of the job tests: every header can be read, and a wrong verdict gives a difference."""

import copy
import glob
import os
import re
import time
import unittest

import expectations
import jobs
import placements
import verdicts

FAULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults")
SOURCE = "barrier.c"
EXPECTED = {
    "kind": "rank-conditional-collective", "op": "MPI_Barrier", "seq": 3, "culprits": [0],
    "waiting": [1, 2, 3], "comm": "MPI_COMM_WORLD", "certainty": ["proven"],
    "analyze-certainty": ["proven", "likely"], "lines": {"culprit": [20], "waiting": [10]},
}
VERDICT = {
    "format": "rollcall-verdict", "version": 1, "status": "hung", "findings": [{
        "kind": "rank-conditional-collective", "certainty": "proven", "culprits": [0],
        "waiting": [3, 2, 1], "communicator": "MPI_COMM_WORLD", "operation": "MPI_Barrier",
        "sequence": 3, "lines": [
            {"role": "waiting", "file": "/x/barrier.c", "line": 10},
            {"role": "culprit", "file": "/x/barrier.c", "line": 20}]}]}


class Headers(unittest.TestCase):
    @staticmethod
    def has_fault(path):
        with open(path, encoding="utf-8") as source:
            text = source.read()
        if path.endswith(".py"):
            return re.search(r"import .*\bFAULT\b|^FAULT = ", text, re.MULTILINE) is not None
        return not path.endswith((".c", ".cc")) or re.search(r"#ifn?def FAULT|\bkFault\b", text) is not None

    def test_every_source_has_a_complete_header(self):
        sources = [path for path in glob.glob(os.path.join(FAULTS, "*", "*.*"))
                   if os.path.basename(os.path.dirname(path)) != "generated"
                   and not path.endswith((".h", "_preload.c"))]
        self.assertGreater(len(sources), 40)
        for path in sources:
            directory = os.path.basename(os.path.dirname(path))
            true_negative = directory == "true_negatives" or not self.has_fault(path)
            for mpi in {"nccl": ("fork",), "torch": ("torch",)}.get(directory, ("openmpi", "mpich")):
                for variant in expectations.read(path, mpi):
                    self.assertEqual(true_negative, not variant.findings, path)

    def test_ranks(self):
        self.assertEqual([0, 2, 3, 4], expectations.parse_ranks("2-4,0"))
        self.assertEqual([], expectations.parse_ranks("none"))
        self.assertIsNone(expectations.parse_ranks("any"))

    def test_a_key_for_one_mpi_wins_there(self):
        keys = expectations._keys("outcome=hung outcome[mpich]=failed", "mpich")
        self.assertEqual({"outcome": "failed"}, keys)
        keys = expectations._keys("outcome=hung outcome[mpich]=failed", "openmpi")
        self.assertEqual({"outcome": "hung"}, keys)


class Comparison(unittest.TestCase):
    def differences(self, analyzed=False, **changes):
        verdict = copy.deepcopy(VERDICT)
        verdict["findings"][0].update(changes)
        return verdicts.compare([EXPECTED], verdict, SOURCE, analyzed)

    def test_agreement(self):
        self.assertEqual([], self.differences())

    def test_every_fact_counts(self):
        line = dict(VERDICT["findings"][0]["lines"][1])
        for changes in (
                {"kind": "desync"}, {"culprits": []}, {"culprits": [0, 1]}, {"waiting": [1, 2]},
                {"operation": "MPI_Bcast"}, {"sequence": 4}, {"communicator": "MPI_COMM_SELF"},
                {"certainty": "likely"}, {"lines": []},
                {"lines": VERDICT["findings"][0]["lines"] + [dict(line, line=21)]},
                {"lines": [dict(line, line=20, file="/x/other.c")]}):
            self.assertTrue(self.differences(**changes), changes)

    def test_only_the_post_mortem_verdict_may_be_less_certain(self):
        self.assertTrue(self.differences(certainty="likely"))
        self.assertEqual([], self.differences(analyzed=True, certainty="likely"))

    def test_a_missing_or_further_finding_is_a_difference(self):
        verdict = copy.deepcopy(VERDICT)
        self.assertTrue(verdicts.compare([], verdict, SOURCE))
        verdict["findings"] = []
        self.assertTrue(verdicts.compare([EXPECTED], verdict, SOURCE))

    def test_a_verdict_that_only_lacks_waiting_ranks_is_told_apart(self):
        verdict = copy.deepcopy(VERDICT)
        self.assertFalse(verdicts.only_lacks_waiting([EXPECTED], verdict, SOURCE))
        verdict["findings"][0]["waiting"] = [1, 3]
        self.assertTrue(verdicts.only_lacks_waiting([EXPECTED], verdict, SOURCE))
        verdict["findings"][0]["waiting"] = [0, 1]
        self.assertFalse(verdicts.only_lacks_waiting([EXPECTED], verdict, SOURCE))
        verdict["findings"][0].update(waiting=[1], culprits=[2])
        self.assertFalse(verdicts.only_lacks_waiting([EXPECTED], verdict, SOURCE))

    def test_another_format_or_version_is_refused(self):
        for text in ("", "{}", '{"format": "rollcall-verdict", "version": 2}'):
            with self.assertRaises(verdicts.VerdictError):
                verdicts.load(text)


class Placements(unittest.TestCase):
    def test_two_hundred_at_least_always_the_same(self):
        names = [placement.name() for placement in placements.generate()]
        self.assertGreaterEqual(len(names), 200)
        self.assertEqual(names, [placement.name() for placement in placements.generate()])

    def test_a_sample_holds_every_mode(self):
        modes = {p.mode for p in placements.sample(placements.generate(), 12)}
        self.assertEqual(set(placements.MODES), modes)

    def test_every_site_is_in_the_driver(self):
        sites = placements.sites_of(os.path.join(FAULTS, "generated", "placement.c"))
        for placement in placements.generate():
            placement.finding(sites)


class Processes(unittest.TestCase):
    def test_a_grandchild_in_another_session_is_killed_too(self):
        with jobs.Job(["sh", "-c", "setsid sleep 60 & echo $!; wait"]) as job:
            while not job.stdout():
                time.sleep(0.01)
            child = int(job.stdout())
            job.kill_everything()
            self.assertFalse(job.running())
        # A zombie waits for init; a running process would still have its command line.
        try:
            with open("/proc/%d/cmdline" % child, encoding="utf-8") as cmdline:
                self.assertEqual("", cmdline.read())
        except (FileNotFoundError, ProcessLookupError):
            pass


if __name__ == "__main__":
    unittest.main()
