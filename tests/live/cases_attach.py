# SPDX-License-Identifier: Apache-2.0
"""Tests of `rollcall attach` on a job that was started without rollcall: permissions, and stopped or traced ranks."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys

import live
from cases_shm import WITHOUT_SM  # Open MPI's module names its files by pid, and crashes even without rollcall
from cases_users import NOBODY
from live import Command, require, until

RANKS = 4
NOTHING_FOUND, FINDINGS, NO_JOB = 0, 1, 2
WITHOUT_PTRACE = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]

# Traces the threads of the process PID, as a debugger does, until it is killed.
TRACER = r"""
import ctypes, os, signal, sys
PTRACE_SEIZE = 0x4206
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
for thread in os.listdir("/proc/%s/task" % sys.argv[1]):
    if ptrace(PTRACE_SEIZE, int(thread), 0, 0) != 0:
        sys.exit("PTRACE_SEIZE: " + os.strerror(ctypes.get_errno()))
print("traces", flush=True)
signal.pause()
"""


def _rank_processes(job):
    return until(lambda: sorted(pids) if len(pids := live.ranks_among(job.processes())) == RANKS else None,
                 "%d ranks" % RANKS, job)


@contextlib.contextmanager
def _stuck_job(scene, mode="skip", extra=()):
    """Yields a bare job, and the pids of its ranks in the order of the ranks."""
    with Command(scene.job(mode, RANKS, extra=extra)) as job:
        job.says("stepping")
        yield job, _rank_processes(job)


def attach(scene, job, before=(), pid=None, options=(), which=()):
    """Returns exit code, verdict (None without one) and all output. `which`: the options that select the job."""
    if os.path.exists(scene.verdict_file):
        os.unlink(scene.verdict_file)
    done = subprocess.run([*before, scene.rollcall, "attach", *(which or ("--pid", str(pid or job.pid))),
                           "--color=never", "--json", scene.verdict_file, *options],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=live.PATIENCE_S, check=False)
    return done.returncode, live.read_verdict(scene.verdict_file), done.stdout


def _finding(scene, job, culprits, before=()):
    """Attaches until the first finding has these culprits; earlier verdicts can differ. Returns the finding."""
    def look():
        _, verdict, _ = attach(scene, job, before)
        findings = verdict["findings"] if verdict else []
        return findings[0] if findings and findings[0]["culprits"] == culprits else None
    return until(look, "a finding of ranks %s" % culprits, job)


def attach_as_another_user(scene):
    """For a user who is neither root nor the owner of the job, attach reports the owner of the process."""
    another = live.need(NOBODY)
    with _stuck_job(scene) as (job, ranks):
        code, verdict, said = attach(scene, job, another, ranks[0])
        require(code == NO_JOB and verdict is None, "ended with %s" % code, job)
        require("process %d belongs to user id %d" % (ranks[0], os.geteuid()) in said, said, job)


def attach_without_the_capability(scene):
    """Without CAP_SYS_PTRACE root's processes cannot be read: attach reports that once, and what it can read."""
    without = live.need(WITHOUT_PTRACE)
    with _stuck_job(scene) as (job, _):
        code, verdict, said = attach(scene, job, without)
        require(code == FINDINGS, "ended with %s: %s" % (code, said), job)
        finding = verdict["findings"][0]
        require((finding["kind"], finding["certainty"]) == ("inconclusive", "inconclusive"), str(finding), job)
        require(said.count("CAP_SYS_PTRACE") == 1, said, job)
        require(all("rank %d is " % rank in said for rank in range(RANKS)), said, job)


def attach_as_an_unprivileged_user(scene):
    """A user's own job needs no root."""
    user = live.need(NOBODY)
    os.chmod(scene.directory, 0o777)
    program = scene.path("staged_job")
    subprocess.run(["cp", scene.program, program], check=True)
    # The user may be unable to read this directory.
    here = ["env", "-C", scene.directory, "HOME=" + scene.directory, "TMPDIR=" + scene.directory]
    words = user + here + live.jobs.launcher("openmpi", RANKS) + [program, "skip"]
    with Command(words) as job:
        job.says("stepping")
        _rank_processes(job)
        finding = _finding(scene, job, [1], user)
        require(finding["kind"] == "rank-conditional-collective", finding["kind"], job)


def attach_to_containers(scene):
    """Ranks in PID namespaces of their own are found and read from outside."""
    container = live.need_unshare("-p", "-f", "--kill-child", "--mount-proc")
    with _stuck_job(scene, extra=WITHOUT_SM + container) as (job, _):
        finding = _finding(scene, job, [1])
        require(finding["kind"] == "rank-conditional-collective", finding["kind"], job)


def attach_to_a_stopped_rank(scene):
    """SIGSTOP is reported as the reason while the rank is stopped."""
    with Command(scene.job("exit7", RANKS, gate=True)) as job:
        job.says("stepping")
        stopped = _rank_processes(job)[2]
        os.kill(stopped, signal.SIGSTOP)

        def look():
            _, verdict, _ = attach(scene, job)
            found = [f for f in verdict["findings"] if "stopped" in f["title"] + f["why"]] if verdict else []
            return found[0] if found else None
        finding = until(look, "a rank that is stopped", job)
        require((finding["kind"], len(finding["culprits"])) == ("rank-stalled", 1), json.dumps(finding), job)
        os.kill(stopped, signal.SIGCONT)
        scene.open_gate()
        job.ends(live.JOB_CODE)


def attach_beside_a_debugger(scene):
    """A process can have only one tracer: a traced rank is reported with its tracer, or read without stopping it."""
    with _stuck_job(scene) as (job, ranks):
        _finding(scene, job, [1])
        with Command([sys.executable, "-c", TRACER, str(ranks[2])]) as tracer:
            tracer.says("traces")

            def look():
                _, verdict, said = attach(scene, job)
                finding = verdict["findings"][0] if verdict and verdict["findings"] else None
                seen = finding and finding["culprits"] == [1]
                named = finding and finding["kind"] == "inconclusive" and "(pid %d)" % tracer.pid in said
                return seen or named
            until(look, "the same verdict, or the debugger's name", job, tracer)
            require(tracer.running(), "the debugger ended", tracer)


def attach_killed(scene):
    """If attach is killed at any time, no thread remains stopped, and the job ends normally."""
    with Command(scene.job("exit7", RANKS, gate=True)) as job:
        job.says("stepping")
        ranks = _rank_processes(job)
        for _ in range(20):
            look = subprocess.Popen([scene.rollcall, "attach", "--pid", str(job.pid), "--between", "0.01"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                look.wait(random.uniform(0.01, 0.6))
            look.kill()
            look.wait()
            for rank in ranks:
                until(lambda: not _held(rank), "process %d runs on" % rank, job)  # pylint: disable=cell-var-from-loop
        scene.open_gate()
        job.ends(live.JOB_CODE)


def _held(pid):
    """Returns whether a thread of the process is stopped or traced."""
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread), encoding="utf-8", errors="replace") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        if fields["State"].split()[0] in "Tt" or fields["TracerPid"].strip() != "0":
            return True
    return False


def attach_while_it_ends(scene):
    """Ranks that end during attach do not make it fail, and no verdict blames a rank that ended between two samples."""
    for wait_s in (0.2, 0.6, 1.0, 1.4):
        with Command(scene.job("exit7", RANKS, gate=True)) as job:
            job.says("stepping")
            _rank_processes(job)
            look = subprocess.Popen([scene.rollcall, "attach", "--pid", str(job.pid)], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            with contextlib.suppress(subprocess.TimeoutExpired):
                look.wait(wait_s)
            scene.open_gate()
            job.ends(live.JOB_CODE)
            said, _ = look.communicate(timeout=live.PATIENCE_S)
            require(look.returncode in (NOTHING_FOUND, NO_JOB), "ended with %s: %s" % (look.returncode, said), job)


def attach_reads_rings(scene):
    """If the ranks record their calls, the verdict comes from the records and is proven."""
    with Command(scene.run() + scene.job("skip", RANKS)) as job:
        job.says("stepping")
        ranks = until(lambda: live.ranks_among(job.processes()), "ranks", job)

        def look():
            done = attach(scene, job, pid=ranks[0])
            return done if done[1] and done[1]["findings"] and done[1]["findings"][0]["certainty"] == "proven" else None
        code, verdict, said = until(look, "a proven verdict", job)
        require(code == FINDINGS, "ended with %s" % code, job)
        live.check_skip(verdict, RANKS, job)
        require("\n  stacks\n" in said, "no tree of stacks: " + said, job)


def attach_asks_the_flight_recorder(scene):
    """Dumps are requested and read, on this node and by another one; a missing pipe is reported."""
    name = "recorded%d" % os.getpid()
    os.symlink(sys.executable, scene.path(name))
    with open(scene.path("rsh"), "w", encoding="utf-8") as script:
        script.write('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    os.chmod(script.name, 0o700)
    node = ("--hosts", "here", "--rsh", scene.path("rsh"), "--job", name)
    program = os.path.join(live.HERE, "flight_recorder_rank.py")
    words = live.jobs.launcher("torch", RANKS) + [scene.path(name), program]
    dumps = {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": scene.path("pipe"), "TORCH_FR_DUMP_TEMP_FILE": scene.path("dump_")}
    with Command(words, dumps) as job:
        until(lambda: job.stdout().count("stepping") == RANKS, "all ranks", job)
        for which in ((), node):
            code, verdict, said = attach(scene, job, options=["--flight-recorder"], which=which)
            require(code == FINDINGS, "ended with %s: %s" % (code, said), job)
            finding = verdict["findings"][0]
            require((finding["kind"], finding["culprits"]) == ("rank-stalled", [RANKS - 1]), json.dumps(finding), job)
            require("stacks\n" in said and "Flight Recorder of" not in said, said, job)
        os.unlink(scene.path("pipe1.pipe"))
        _, _, said = attach(scene, job, options=["--flight-recorder"])
        require("Flight Recorder of rank 1: pipe " in said, said, job)
        _, _, said = attach(scene, job)
        require("rank-stalled" not in said, "asked without --flight-recorder: " + said, job)


CASES = {case.__name__: case for case in (
    attach_as_another_user, attach_without_the_capability, attach_as_an_unprivileged_user, attach_to_containers,
    attach_to_a_stopped_rank, attach_beside_a_debugger, attach_killed, attach_while_it_ends, attach_reads_rings,
    attach_asks_the_flight_recorder)}
