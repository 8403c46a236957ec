# SPDX-License-Identifier: Apache-2.0
"""Failures of shared memory: too small for rings, not writable, emptied while the job runs."""

import os
import shutil

import live
from live import Command, require, until

# Open MPI's own shared memory does not fit either.
WITHOUT_SM = ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"]
RANKS = 3
# Rings may use a sixteenth, which is too small for one ring; the whole is enough for the copies.
SMALL = "8m"


def _instead_of_shared_memory(options, command, after=""):
    """Returns the command with its own tmpfs as /dev/shm; `after` is a shell command that runs after it."""
    script = 'mount -t tmpfs -o %s none /dev/shm || exit 99\n"$@"\ncode=$?\n%s\nexit $code' % (
        options, after)
    return live.need_unshare("-m") + ["sh", "-c", script, "sh"] + command


def small(scene):
    """No room for rings: they go to the agent as memfds, and are copied after the finding."""
    analyzed = scene.path("analyzed.json")
    after = 'ls /dev/shm/rollcall-*/*/rings | wc -l\n"%s" analyze --json "%s" /dev/shm/rollcall-*/*' % (
        scene.rollcall, analyzed)
    job = scene.job("skip", ranks=RANKS, gate=True, extra=WITHOUT_SM)
    command = _instead_of_shared_memory(
        "size=" + SMALL, scene.run(on_hang="kill", directory=False) + job, after)
    with Command(command) as job:
        job.says("stepping")
        rings = _ring_files(job)
        require(rings == 0, "%d rings found room, so the test proves nothing" % rings, job)
        scene.open_gate()
        job.ends(live.ENDED_CODE)
        live.check_skip(live.read_verdict(scene.verdict_file), RANKS, job)
        require("traces: /dev/shm/" in job.stderr(), "the traces are elsewhere", job)
        require(str(RANKS) in job.stdout().split(), "not every ring was copied", job)
        verdict = live.read_verdict(analyzed)
        require(verdict is not None, "rollcall analyze wrote no verdict", job)
        live.check_skip(verdict, RANKS, job)


def _ring_files(job):
    """Returns the number of ring files in the /dev/shm of the job's ranks."""
    rank = live.ranks_among(job.processes())[0]
    found = 0
    for _, _, names in os.walk("/proc/%d/root/dev/shm" % rank):
        found += sum(name.endswith(".ring") for name in names)
    return found


def read_only(scene):
    """/dev/shm is read-only: one line reports it, traces are elsewhere, the job's code and output are unchanged."""
    command = ["env", "TMPDIR=" + scene.directory] + scene.run(directory=False)
    with Command(_instead_of_shared_memory("ro", command + scene.job(
            "exit7", ranks=RANKS, extra=WITHOUT_SM))) as job:
        job.ends(live.JOB_CODE)
        require("done" in job.stdout(), "the job's output is lost", job)
        ours = [line for line in job.stderr().splitlines() if line.startswith("rollcall: ")]
        require(len(ours) == 1 and "/dev/shm" in ours[0] and scene.directory in ours[0],
                "not one line: %s" % ours, job)
        verdict = live.read_verdict(scene.verdict_file)
        require(verdict["ranks"] == RANKS and not verdict["findings"], str(verdict), job)


def emptied(scene):
    """Shared memory is emptied during the run: the agent holds every ring and writes it again."""
    rings = os.path.join(scene.run_directory, "rings")
    with Command(scene.run(on_hang="kill") + scene.job("skip", ranks=RANKS, gate=True)) as job:
        job.says("stepping")
        until(lambda: _seen(scene) == RANKS, "the agent's word of %d ranks" % RANKS, job)
        for name in os.listdir(rings):
            os.unlink(os.path.join(rings, name))
        scene.open_gate()
        job.ends(live.ENDED_CODE)
        live.check_skip(live.read_verdict(scene.verdict_file), RANKS, job)
        require(len(os.listdir(rings)) == RANKS, "rings were not written again", job)
    live.check_skip(scene.analyze(), RANKS)


def of_each_rank(scene):
    """Each rank has a /dev/shm of its own, without the run directory: the rings go to the agent."""
    private = live.need_unshare("-m") + [
        "sh", "-c", 'mount -t tmpfs none /dev/shm || exit 99; exec "$@"', "sh"]
    shared = live.jobs.make_directory()
    try:
        scene.run_directory = os.path.join(shared, "run")
        job = scene.job("skip", ranks=RANKS, extra=WITHOUT_SM + private)
        with Command(scene.run(on_hang="kill") + job) as job:
            job.ends(live.ENDED_CODE)
            live.check_skip(live.read_verdict(scene.verdict_file), RANKS, job)
        live.check_skip(scene.analyze(), RANKS)
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def _seen(scene):
    """Returns the number of ranks that the agent has recorded in its journal."""
    with open(os.path.join(scene.run_directory, "journal.jsonl"), encoding="utf-8") as journal:
        return journal.read().count('"event":"process-seen"')


small.on_disk = read_only.on_disk = of_each_rank.on_disk = True  # their /dev/shm is not the test's
CASES = {case.__name__: case for case in (small, read_only, emptied, of_each_rank)}
