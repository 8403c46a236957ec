# SPDX-License-Identifier: Apache-2.0
"""Tests of jobs of which no rank records: recording is switched off, and PyTorch that makes no recorded call."""

import os
import signal
import subprocess
import time

import live
from live import Command, require, until

OFF = {"ROLLCALL_DISABLE": "1"}
WHY = "no rank was recorded: 4 ranks of %s (MPI): ROLLCALL_DISABLE=1 is set"
PYTHON = "/usr/bin/python3"  # for which Debian's PyTorch is
PYTORCH_JOB = os.path.join(live.HERE, "..", "faults", "torch", "collective_on_rank0.py")
ALONE_S = 1.5  # how long the test checks that the job continues


def _check_skip(verdict, *started):
    live.check_skip(verdict, 4, *started)
    finding = verdict["findings"][0]
    require(finding["certainty"] == "suspected", "it is " + finding["certainty"], *started)


def unrecorded_hang(scene):
    """Ranks that stand still for --stall-after are reported from their stacks, and the job is never ended for it."""
    with Command(scene.run("--stall-after", "1", on_hang="kill") + scene.job("skip"), OFF) as job:
        job.says("rollcall: hung, suspected")
        _check_skip(scene.verdict(job), job)
        ranks = live.ranks_among(job.processes())
        deadline = time.monotonic() + ALONE_S
        while time.monotonic() < deadline:
            require(job.running(), "the job was ended", job)
            time.sleep(live.POLL_S)
        require(live.ranks_among(job.processes()) == ranks, "ranks are gone", job)
        os.kill(job.pid, signal.SIGTERM)
        require(job.wait() not in (None, 0, live.ENDED_CODE), "it ended with %s" % job.wait(), job)
        require(WHY % "mpirun.openmpi" in job.stderr(), "not said why", job)
        require(job.stderr().count("rollcall: hung") == 1, "not one verdict", job)
        _check_skip(live.read_verdict(scene.verdict_file), job)


def unrecorded_timeout(scene):
    """Before `check` ends a job at --timeout, it takes the stacks; then it ends the ranks that a launcher leaves."""
    leaves_ranks = ["sh", "-c", '"$@" & wait', "sh"]
    with Command(scene.check("--timeout", "3") + leaves_ranks + scene.job("skip"), OFF) as job:
        job.ends(live.FINDINGS)
        _check_skip(live.read_verdict(scene.verdict_file), job)
        require(job.stderr().index("suspected: ranks 0,2,3 wait in") < job.stderr().index("ends the job"),
                "the stacks are of a job that was ended", job)
        require(WHY % "sh" in job.stderr(), "not said why", job)
        until(lambda: not live.ranks_among(job.processes()), "the end of all ranks", job)


def unrecorded_rank_goes_on(scene):
    """The ranks move again: the verdict is withdrawn, also in the file, while the job continues."""
    with Command(scene.run("--stall-after", "1") + scene.job("exit7", gate=True), OFF) as job:
        job.says("stepping")
        stopped = live.ranks_among(job.processes())[1]
        os.kill(stopped, signal.SIGSTOP)
        verdict = scene.verdict(job)
        require([finding["kind"] for finding in verdict["findings"]] == ["rank-stalled"], str(verdict), job)
        os.kill(stopped, signal.SIGCONT)
        job.says("the ranks moved again; the verdict above is withdrawn")
        until(lambda: live.read_verdict(scene.verdict_file)["status"] == "running", "another JSON", job)
        scene.open_gate()
        job.ends(live.JOB_CODE)
        require(live.read_verdict(scene.verdict_file)["findings"] == [], "a withdrawn finding", job)


def unrecorded_healthy(scene):
    """`check` passes no job of PyTorch that was told not to record, and says what it saw."""
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        raise live.Unavailable("PyTorch is not installed for " + PYTHON)
    words = live.jobs.launcher("torch", 3) + [PYTHON, PYTORCH_JOB]
    with Command(scene.check() + words, OFF) as job:
        job.ends(2)
        require("3 ranks of torch_ranks.py (PyTorch " in job.stderr(), "not said what ran", job)
        require(" ROLLCALL_DISABLE=1 is set (--allow-no-ranks permits it)" in job.stderr(), "not said why", job)


CASES = {case.__name__: case for case in (
    unrecorded_hang, unrecorded_timeout, unrecorded_rank_goes_on, unrecorded_healthy)}
