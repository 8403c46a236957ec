#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of one isolation test (cases.py) with and without librollcall.so, and compares what a user sees.

Prints SKIPPED and why, with exit code 77, where the machine does not permit the case's environment.
"""

import argparse
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import cases  # noqa: E402
import jobs  # noqa: E402
import surroundings  # noqa: E402

SKIPPED = 77
TIMEOUT_S = 60


class Failure(Exception):
    """The test failed; the text gives the difference."""


class Outcome:
    """The result of a run: code, output, rollcall's lines of stderr, rings."""

    def __init__(self, code, stdout, stderr, rings):
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.rings = rings

    def our_lines(self):
        return [line for line in self.stderr.splitlines() if line.startswith("rollcall: ")]


def is_ours(path):
    return os.path.isabs(path)


class Runner:
    def __init__(self, args, case, scratch):
        self.args = args
        self.case = case
        self.scratch = scratch

    def expand(self, text, run):
        other = "mpich" if self.args.mpi == "openmpi" else "openmpi"
        return text.format(plugins=self.args.programs, run=run, other=other)

    def program(self, run):
        name, *rest = self.case.program
        path = name if is_ours(name) else os.path.join(self.args.programs, name)
        return [path] + [self.expand(word, run) for word in rest]

    def preloads(self, run, with_shim):
        libraries = [self.expand(word, run) for word in self.case.preload]
        if with_shim:
            libraries.append(self.args.shim)
        return libraries + [self.expand(word, run) for word in self.case.preload_after]

    def command(self, run, with_shim, work):
        inner = self.program(run)
        if self.case.runner == "setuid":
            inner = setuid_command(inner, work)
        if self.case.ranks:
            inner = jobs.launcher(self.args.mpi, self.case.ranks) + inner
        env = {"TMPDIR": work, "ROLLCALL_DIR": run, "OMPI_MCA_ess_singleton_isolated": "1"}
        if self.case.ranks:
            del env["OMPI_MCA_ess_singleton_isolated"]
        env.update(self.case.environment or {})
        libraries = self.preloads(run, with_shim)
        if libraries:
            env["LD_PRELOAD"] = ":".join(libraries)
        # The preload comes last, so that it does not affect the commands that set up the environment.
        inner = ["env"] + ["%s=%s" % item for item in sorted(env.items())] + inner
        return ["env", "-C", work] + self.case.place(inner, run)

    def rings(self, run):
        out = subprocess.run([self.args.summary, run], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in out.stdout.splitlines()]

    def run(self, with_shim):
        work = tempfile.mkdtemp(prefix="w", dir=self.scratch)
        os.chmod(work, 0o755)
        run = tempfile.mkdtemp(prefix="rollcall-isolation-", dir="/dev/shm")
        keep = os.path.join(work, "rings.json")
        # Inside the environment, because its mounts end with it.
        recorder = ['sh', '-c', '"$@"; code=$?; %s "$ROLLCALL_DIR" > %s; exit $code' % (
            self.args.summary, keep), 'sh']
        try:
            command = self.command(run, with_shim, work)
            if with_shim and surroundings.mounts(command[3:]):
                at = command.index("env", 1)
                command = command[:at] + ["env", "ROLLCALL_DIR=" + run] + recorder + command[at:]
            with jobs.Job(command) as job:
                code = job.wait(TIMEOUT_S)
                if code is None:
                    raise Failure("still running after %d s\n%s" % (TIMEOUT_S, job.stderr()))
                stdout, stderr = job.stdout(), job.stderr()
            if os.path.exists(keep):
                with open(keep, encoding="utf-8") as lines:
                    rings = [json.loads(line) for line in lines]
            else:
                rings = self.rings(run)
            # The exit code that an intermediate shell returns.
            code = 128 - code if code < 0 else code
            return Outcome(code, stdout, stderr, rings)
        finally:
            for path in (run, run + ".real"):
                if os.path.islink(path):
                    os.unlink(path)
                shutil.rmtree(path, ignore_errors=True)
            shutil.rmtree(work, ignore_errors=True)


def setuid_command(inner, work):
    """Returns a command in which the user nobody starts a set-user-ID copy of the program that root owns."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise surroundings.Unavailable("needs root and setpriv")
    if os.statvfs(work).f_flag & os.ST_NOSUID:
        raise surroundings.Unavailable("the scratch directory is mounted nosuid")
    copy = os.path.join(work, "setuid-program")
    shutil.copy(inner[0], copy)
    os.chmod(copy, stat.S_ISUID | 0o755)
    os.chmod(work, 0o777)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy] + inner[1:]


def compare(case, plain, shim):
    if case.same_output:
        if case.ordered and plain.stdout != shim.stdout:
            raise Failure("output differs: %r, with the preload %r" % (plain.stdout, shim.stdout))
        if sorted(plain.stdout.splitlines()) != sorted(shim.stdout.splitlines()):
            raise Failure("output differs: %r, with the preload %r" % (plain.stdout, shim.stdout))
    if plain.code != shim.code:
        raise Failure("exit code %d, with the preload %d" % (plain.code, shim.code))
    for text in case.output:
        if text not in shim.stdout:
            raise Failure("%r is not in the output %r" % (text, shim.stdout))
    if plain.code == 70:
        raise Failure("the program's own check failed")


def check_lines(case, shim):
    lines = shim.our_lines()
    if len(lines) > case.lines * max(1, case.ranks):
        raise Failure("too many lines on stderr: %s" % lines)
    if case.needs_line and not lines:
        raise Failure("nothing on stderr says why nothing is recorded")


def check_rings(case, shim):
    rings = shim.rings
    expected = case.expected_rings()
    # With little memory a rank may remain unrecorded, but must report it.
    if len(rings) + (len(shim.our_lines()) if case.lines else 0) < expected or len(rings) > expected:
        raise Failure("%d rings, expected %d; %s" % (len(rings), expected, shim.our_lines()))
    for ring in rings:
        if not ring["usable"]:
            raise Failure("not a ring: %s" % ring)
        for name, count in (case.calls or {}).items():
            if ring["calls"].get(name, 0) != count:
                raise Failure("%s recorded %s times, expected %d: %s" % (
                    name, ring["calls"].get(name, 0), count, ring))
        for name, value in (case.header or {}).items():
            if ring[name] != value:
                raise Failure("%s is %d, expected %d: %s" % (name, ring[name], value, ring))
    total = sum(ring["bytes"] for ring in rings)
    if case.most_ring_bytes is not None and total > case.most_ring_bytes:
        raise Failure("%d bytes of shared memory, allowed are %d" % (total, case.most_ring_bytes))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shim", required=True, help="librollcall.so")
    parser.add_argument("--summary", required=True, help="the ring_summary program")
    parser.add_argument("--programs", required=True, help="where the programs were built for --mpi")
    parser.add_argument("--mpi", required=True, choices=["openmpi", "mpich"])
    parser.add_argument("case", choices=sorted(cases.CASES))
    args = parser.parse_args()
    case = cases.CASES[args.case]
    scratch = tempfile.mkdtemp(prefix="rh-", dir="/tmp")
    os.chmod(scratch, 0o755)
    try:
        runner = Runner(args, case, scratch)
        plain = runner.run(with_shim=False)
        if plain.code == SKIPPED:
            raise surroundings.Unavailable(plain.stdout.strip())
        if case.bare_code not in (None, plain.code):
            raise surroundings.Unavailable("without the preload it ends with %d, not %d\n%s" % (
                plain.code, case.bare_code, plain.stderr))
        if plain.rings:
            raise Failure("the test is broken: a ring without the library")
        shim = runner.run(with_shim=True)
        try:
            compare(case, plain, shim)
            check_lines(case, shim)
            check_rings(case, shim)
        except Failure as failure:
            raise Failure("%s\n--- stderr without:\n%s\n--- stderr with:\n%s" % (
                failure, plain.stderr, shim.stderr)) from None
    except surroundings.Unavailable as reason:
        print("SKIPPED: %s" % reason)
        return SKIPPED
    except Failure as failure:
        print("FAILED: %s" % failure)
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("passed: code %s, %d rings" % (plain.code, len(shim.rings)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
