# SPDX-License-Identifier: Apache-2.0
"""Rings in memory files, because the run directory is on a disk: they outlast `rollcall run`, and the ranks."""

import os
import signal
import subprocess

import live
from cases_attach import FINDINGS, attach
from cases_nodes import agent_restarted
from live import Command, require, until

RANKS = 4
# A launcher that outlives SIGTERM to itself, as one that waits for ranks that ignore it.
DEAF = ["sh", "-c", "trap '' TERM; \"$@\" & wait $!", "sh"]
LOOKS = 5


def _rings(scene, suffix):
    return [name for name in os.listdir(os.path.join(scene.run_directory, "rings")) if name.endswith(suffix)]


def _require_memory(scene, job):
    require(not _rings(scene, ".ring"), "rings are files, so the test proves nothing", job)


def _bundle(scene):
    packed = scene.path("job.zst")
    subprocess.run([scene.rollcall, "bundle", scene.run_directory, "-o", packed], stdin=subprocess.DEVNULL,
                   capture_output=True, timeout=live.PATIENCE_S, check=True)
    return packed


def memory_outlives_the_watcher(scene):
    """SIGKILL to rollcall run, and the job hangs after that: its ranks that live still give the verdict."""
    with Command(scene.run() + scene.job("skip", gate=True)) as job:
        job.says("stepping")
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
        _require_memory(scene, job)
        scene.open_gate()

        def hangs():
            found = scene.analyze()["findings"]
            return bool(found) and len(found[0]["waiting"]) == RANKS - 1  # the last rank may arrive later

        until(hangs, "a finding in the ranks' memory", job)
        verdict = scene.analyze()
        live.check_skip(verdict, RANKS, job)
        require(verdict["findings"][0]["certainty"] == "proven", str(verdict), job)
        code, verdict, said = attach(scene, job, pid=live.ranks_among(job.processes())[0])
        require(code == FINDINGS, "attach ended with %s: %s" % (code, said), job)
        live.check_skip(verdict, RANKS, job)
        require(verdict["findings"][0]["certainty"] == "proven", "not from the records: " + str(verdict), job)
        packed = _bundle(scene)
        # A second run in the directory would mix its ranks with these.
        with Command(scene.run() + ["true"]) as second:
            second.says("holds the traces of another run")
        job.kill_everything()
        live.check_skip(scene.analyze(of=packed), RANKS, job)


def memory_outlives_the_ranks(scene):
    """The rings of a reported hang are copied: SIGKILL to all processes at once leaves the verdict."""
    nowhere = live.need_unshare("--pid", "--fork", "--mount-proc")  # where no process of the job is seen
    with Command(scene.run() + scene.job("skip")) as job:
        live.check_skip(scene.verdict(job), RANKS, job)
        live.check_skip(scene.analyze(), RANKS, job)
        # Copies of the first suspicion may be older than the hang: they are made again.
        until(lambda: any(finding["certainty"] == "proven" for finding in scene.analyze(*nowhere)["findings"]),
              "copies of the hang", job)
        require(len(_rings(scene, ".ring.copy")) == RANKS, "not every ring was copied", job)
        _require_memory(scene, job)
        job.kill_everything()
    verdict = scene.analyze()
    live.check_skip(verdict, RANKS)
    require(verdict["findings"][0]["certainty"] == "proven", str(verdict))


def memory_is_copied_on_sigterm(scene):
    """SIGTERM to rollcall run: the traces of a job that continues are in the run directory."""
    with Command(scene.run() + DEAF + scene.job("exit7", gate=True)) as job:
        job.says("stepping")
        require(not _rings(scene, ""), "there are rings already", job)
        os.kill(job.pid, signal.SIGTERM)
        until(lambda: len(_rings(scene, ".ring.copy")) == RANKS, "copies", job)
        require(job.running() and len(live.ranks_among(job.processes())) == RANKS, "the job ended", job)
        job.kill_everything()
    verdict = scene.analyze()
    require(verdict["ranks"] == RANKS and not verdict["findings"], str(verdict))


def memory_of_a_running_job(scene):
    """A healthy job is analyzed while it runs: nothing is found, also with copies that are older."""
    with Command(scene.run() + DEAF + scene.job("exit7", gate=True)) as job:
        job.says("stepping")
        for copies in (0, RANKS):
            if copies:
                os.kill(job.pid, signal.SIGTERM)
                until(lambda: len(_rings(scene, ".ring.copy")) == RANKS, "copies", job)
            for _ in range(LOOKS):
                verdict = scene.analyze()
                require((verdict["status"], verdict["ranks"], verdict["findings"]) == ("running", RANKS, []),
                        str(verdict), job)
        _require_memory(scene, job)
        scene.open_gate()
        job.ends(live.JOB_CODE)


def memory_agent_restarted(scene):
    """SIGKILL to an agent, and a new one started: it finds the rings in the ranks' memory."""
    agent_restarted(scene)


CASES = {}
for case in (memory_outlives_the_watcher, memory_outlives_the_ranks, memory_is_copied_on_sigterm,
             memory_of_a_running_job, memory_agent_restarted):
    case.on_disk = True
    CASES[case.__name__] = case
