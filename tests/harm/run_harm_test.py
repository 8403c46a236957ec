#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to a job that computes a checksum, and compares it with a run without attach.

Its output and its exit code must be the same, whatever `rollcall attach` does meanwhile, and attach must find nothing.
With more samples it gives the figures of docs/attach.md:

    tests/harm/run_harm_test.py --mpi openmpi --looks 10000 --attaches 100
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(ROOT, "tests", "jobs"))

import jobs  # noqa: E402

PATIENCE_S = 120
POLL_S = 0.02
CODE = 7  # the program's own
NOTHING_FOUND = 0
# Calls that fail in a stopped thread. Threads inside one are not stopped, but may enter one at that moment.
MOST_INTERRUPTED = 0.1


def fail(text, job):
    print("FAILED: %s\n--- stdout:\n%s--- stderr:\n%s" % (text, job.stdout(), job.stderr()))
    sys.exit(1)


def start(args, directory):
    gate = os.path.join(directory, "gate")
    return jobs.Job(jobs.launcher(args.mpi, args.ranks) + [args.program, gate, directory]), gate


def open_gate(path):
    with open(path, "w", encoding="utf-8"):
        pass


def end(job, what):
    code = job.wait(PATIENCE_S)
    if code is None:
        fail("%s: still running after %d s" % (what, PATIENCE_S), job)
    return code


def run_bare(args):
    with tempfile.TemporaryDirectory() as directory:
        job, gate = start(args, directory)
        with job:
            open_gate(gate)
            code = end(job, "bare")
            if code != CODE:
                fail("bare: ended with %d" % code, job)
            return job.stdout()


def ranks_of(args, job):
    """Waits until all ranks compute, and returns their pids."""
    deadline = time.monotonic() + PATIENCE_S
    while "computing" not in job.stdout():
        if not job.running() or time.monotonic() > deadline:
            fail("it does not compute", job)
        time.sleep(POLL_S)
    return job.processes_of(args.program)


class Looks:
    """The program `looks`, and its counts: threads read while running, read while stopped, not read."""

    def __init__(self, program):
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.seen = [0, 0, 0]

    def at(self, pid):
        self._process.stdin.write("look %d\n" % pid)
        self._process.stdin.flush()
        self.seen = [a + int(b) for a, b in zip(self.seen, self._process.stdout.readline().split())]

    def end(self):
        self._process.stdin.close()
        return self._process.wait(PATIENCE_S)


def attach(args, job):
    done = subprocess.run([args.rollcall, "attach", "--pid", str(job.pid()), "--color=never"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != NOTHING_FOUND:
        fail("attach ended with %d:\n%s" % (done.returncode, done.stdout), job)


def run_looked_at(args):
    """Returns the output on either stream, and what was observed."""
    with tempfile.TemporaryDirectory() as directory:
        job, gate = start(args, directory)
        with job:
            ranks = ranks_of(args, job)
            if len(ranks) != args.ranks:
                fail("%d ranks" % len(ranks), job)
            begin = time.monotonic()
            looks = Looks(args.looks_program)
            for i in range(args.looks):
                looks.at(ranks[i % len(ranks)])
            if looks.end() != 0:
                fail("the program that looks ended", job)
            between = time.monotonic()
            for _ in range(args.attaches):
                attach(args, job)
            print("%d looks in %.1f s, %d attaches in %.1f s" % (
                args.looks, between - begin, args.attaches, time.monotonic() - between))
            open_gate(gate)
            code = end(job, "looked at")
            if code != CODE:
                fail("looked at, it ended with %d" % code, job)
            return job.stdout(), job.stderr(), looks.seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default="openmpi")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--looks", type=int, default=200)
    parser.add_argument("--attaches", type=int, default=3)
    args = parser.parse_args()
    os.environ.setdefault("UCX_LOG_LEVEL", "fatal")  # UCX, which MPICH uses, writes warnings with a time stamp
    args.rollcall = os.path.join(args.build, "bin/rollcall")
    args.looks_program = os.path.join(args.build, "tests/looks")
    args.program = os.path.join(args.build, "tests/harm", args.mpi, "checksum_job")
    bare = run_bare(args)
    output, said, (undisturbed, stopped, unseen) = run_looked_at(args)
    if output != bare:
        print("FAILED: the output differs:\n%s--- bare:\n%s" % (output, bare))
        return 1
    words = said.split()
    interrupted = int(words[words.index("interrupted") + 1])
    print("threads: %d read undisturbed, %d stopped, %d neither; waits that failed with EINTR: %d; checksums: %s" % (
        undisturbed, stopped, unseen, interrupted, words[words.index("times") + 1]))
    if undisturbed < args.looks or stopped < args.looks / 20:
        print("FAILED: the test is broken: too few threads were seen")
        return 1
    if interrupted > args.looks * MOST_INTERRUPTED:
        print("FAILED: too many waits failed")
        return 1
    print("passed: the same output and exit code")
    return 0


if __name__ == "__main__":
    sys.exit(main())
