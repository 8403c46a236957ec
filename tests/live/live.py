# SPDX-License-Identifier: Apache-2.0
"""Code that the cases of the live tests share: a job to wait for, and facts of a verdict."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402
import verdicts  # noqa: E402

SOURCE = os.path.join(HERE, "staged_job.c")
JOB_CODE = 7       # exit code of staged_job
ENDED_CODE = 86    # exit code when rollcall ended the job
FINDINGS = 1       # of `rollcall analyze` and `rollcall collector`
PATIENCE_S = 60
POLL_S = 0.02


class Failure(Exception):
    """The case failed; the text gives the difference."""


class Unavailable(Exception):
    """This machine does not permit the case; the text gives the reason."""


def require(condition, what, *started):
    """Fails with the output of the `started` commands, unless `condition` holds."""
    if condition:
        return
    for job in started:
        what += "\n--- command: %s\n--- stdout:\n%s--- stderr:\n%s" % (
            " ".join(job.command), job.stdout(), job.stderr())
    raise Failure(what)


def until(condition, what, *started, patience_s=PATIENCE_S):
    """Waits until the condition is true and returns its value."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        require(time.monotonic() < deadline, "in %d s not: %s" % (patience_s, what), *started)
        time.sleep(POLL_S)


def line_of(marker):
    """Returns the number of the line of staged_job.c that ends in `@marker`."""
    with open(SOURCE, encoding="utf-8") as source:
        numbers = [n for n, line in enumerate(source, 1) if line.rstrip().endswith("@" + marker)]
    require(len(numbers) == 1, "marker %s stands in %d lines" % (marker, len(numbers)))
    return numbers[0]


class Command(jobs.Job):
    """A command and its pid. At the end it is killed with all its descendants."""

    def __init__(self, command, environment=None):
        words = ["env"] + ["%s=%s" % item for item in sorted((environment or {}).items())]
        super().__init__(words + command)

    @property
    def pid(self):
        return self._process.pid  # env(1) executes the command in its own process

    def says(self, text, patience_s=PATIENCE_S):
        """Waits until either output stream contains `text`."""
        until(lambda: text in self.stdout() or text in self.stderr() or not self.running(),
              "the words '%s'" % text, self, patience_s=patience_s)
        require(text in self.stdout() or text in self.stderr(),
                "ended with %s without the words '%s'" % (self.wait(0), text), self)

    def ends(self, code, patience_s=PATIENCE_S):
        got = self.wait(patience_s)
        require(got is not None, "still running after %d s" % patience_s, self)
        require(got == code, "ended with %d instead of %d" % (got, code), self)

    def processes(self):
        """Returns the pids of all processes that descend from the command."""
        return list(jobs._processes_with(self._token))  # pylint: disable=protected-access


def command_line(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []


def agents_among(pids):
    """Returns the pids of the processes that run `rollcall agent`."""
    return [pid for pid in pids
            if [os.path.basename(word) for word in command_line(pid)[:2]] == ["rollcall", "agent"]]


def ranks_among(pids):
    return [pid for pid in pids
            if command_line(pid) and os.path.basename(command_line(pid)[0]) == "staged_job"]


def read_verdict(path):
    """Returns the verdict in the file; None if there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            return verdicts.load(file.read())
    except OSError:
        return None


def check_one_finding(verdict, kind, culprits, waiting, culprit_line, *started):
    findings = verdict["findings"]
    require(len(findings) == 1, "not one finding: %s" % json.dumps(findings, indent=1), *started)
    facts = verdicts.facts(findings[0], SOURCE)
    expected = {"kind": kind, "culprits": culprits, "waiting": waiting}
    for name, value in expected.items():
        require(facts[name] == value, "%s is %s instead of %s" % (name, facts[name], value), *started)
    require(facts["lines"]["culprit"] == {culprit_line},
            "culprit's line is %s instead of %d" % (facts["lines"]["culprit"], culprit_line), *started)


def check_skip(verdict, ranks, *started):
    """Checks the verdict of staged_job's mode `skip` with that many ranks."""
    require(verdict["status"] in ("hung", "stopped"), "status is " + verdict["status"], *started)
    check_one_finding(verdict, "rank-conditional-collective", [1],
                      [rank for rank in range(ranks) if rank != 1], line_of("reduction"), *started)


class Scene:
    """The environment of one case: programs, a temporary directory, commands to start."""

    def __init__(self, args, directory):
        self.rollcall = args.rollcall
        self.build = args.build
        self.program = args.program
        self.mpich_program = args.mpich_program
        self.directory = directory
        self.run_directory = self.path("run")
        self.verdict_file = self.path("verdict.json")
        self.gate = self.path("gate")

    def path(self, name):
        return os.path.join(self.directory, name)

    def open_gate(self):
        with open(self.gate, "w", encoding="utf-8"):
            pass

    def job(self, mode, ranks=4, gate=False, extra=(), mpi="openmpi"):
        if gate and os.path.exists(self.gate):
            os.unlink(self.gate)  # left by an earlier job
        words = jobs.launcher(mpi, ranks, extra)
        if mpi == "openmpi":
            words += [self.program, mode]
        else:
            if not self.mpich_program:
                raise Unavailable("MPICH is not installed")
            words += [self.rollcall, "exec", "--", self.mpich_program, mode]
        return words + ([self.gate] if gate else [])

    def run(self, *options, on_hang="report", directory=True):
        words = [self.rollcall, "run", "--on-hang=" + on_hang, "--color=never",
                 "--json", self.verdict_file]
        if directory:
            words += ["--dir", self.run_directory]
        return words + list(options) + ["--"]

    def check(self, *options):
        return [self.rollcall, "check", "--color=never", "--json", self.verdict_file,
                "--dir", self.run_directory, *options, "--"]

    def analyze(self, *before, of=None, options=()):
        """Returns the verdict of `rollcall analyze` on the run directory, or on `of`."""
        out = self.path("analyzed.json")
        subprocess.run(list(before) + [self.rollcall, "analyze", "--json", out, *options, of or self.run_directory],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
        verdict = read_verdict(out)
        require(verdict is not None, "rollcall analyze wrote no verdict")
        return verdict

    def verdict(self, job):
        """Returns the live verdict as soon as it is available."""
        return until(lambda: read_verdict(self.verdict_file), "a verdict", job)


def free_port():
    """Returns an unused TCP port of loopback, for a program that cannot choose one itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(pid):
    """Returns whether the process has a listening TCP socket."""
    listening = set()
    for name in ("tcp", "tcp6"):
        with open("/proc/%d/net/%s" % (pid, name), encoding="ascii") as table:
            rows = [line.split() for line in table.read().splitlines()[1:]]
        listening |= {"socket:[%s]" % row[9] for row in rows if row[3] == "0A"}
    files = "/proc/%d/fd" % pid
    return any(os.readlink(os.path.join(files, fd)) in listening for fd in os.listdir(files))


def need(words):
    """Returns the words that start a command in another environment; raises Unavailable if they fail here."""
    if shutil.which(words[0]) is None or subprocess.run(words + ["true"], stdin=subprocess.DEVNULL,
                                                        capture_output=True, check=False).returncode != 0:
        raise Unavailable("not permitted here: " + " ".join(words))
    return words


def need_unshare(*kinds):
    """Returns the words that start a command in namespaces; raises Unavailable if they fail here."""
    return need([shutil.which("unshare") or "unshare", *kinds])
