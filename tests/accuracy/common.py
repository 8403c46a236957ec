# SPDX-License-Identifier: Apache-2.0
"""Code that the scripts of this directory share: commands with a time limit, Debian's sources, a judged job, load."""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Kinds of --data. Of a program of others, they are listed even if they do not fail a check.
KINDS_OF_DATA = ("non-finite-input", "result-differs", "replica-drift", "identical-inputs", "last-bits-differ")
ROLLCALL = os.path.join(ROOT, "build/release/bin/rollcall")
# Limit for the CPU time of a process of the load: more than the runs that share one load need.
LOAD_LIMIT_S = 3600


def run(command, timeout=None, cwd=None, **environment):
    """Returns its exit code (None: time limit exceeded) and output; no process remains."""
    code, out, errors = run_apart(command, timeout, cwd, subprocess.STDOUT, **environment)
    return code, out + errors


def run_apart(command, timeout=None, cwd=None, stderr=None, **environment):
    """Does the same as run() with separate standard output and error, unless errors are redirected."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=stderr or errors, cwd=cwd,
                                   start_new_session=True, env={**os.environ, **environment})
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
            # The launcher ends its ranks; afterwards its whole session is killed.
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                pass
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return code, texts[0], texts[1]


def must(command, **options):
    code, output = run(command, **options)
    if code != 0:
        sys.exit("accuracy: %s failed:\n%s" % (" ".join(command), output[-2000:]))


def fetch_source(work, package, wildcard="*"):
    """Unpacks matching files of a source package of this distribution; None if it is not available."""
    unpacked = glob.glob(os.path.join(work, package + "-*/"))
    if unpacked:
        return unpacked[0]
    apt = work + "/apt"
    os.makedirs(apt + "/lists/partial", exist_ok=True)
    with open("/etc/os-release", encoding="utf-8") as file:
        release = dict(line.split("=", 1) for line in file.read().split("\n") if line)
    with open(apt + "/sources.list", "w", encoding="utf-8") as sources:
        sources.write("deb-src http://deb.debian.org/debian %s main\n" % release["VERSION_CODENAME"].strip('"'))
    options = ["-o", "Dir::Etc::sourcelist=" + apt + "/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
               "-o", "Dir::State::lists=" + apt + "/lists", "-o", "Dir::Cache=" + apt]
    for arguments in (["update"], ["source", "--download-only", package]):
        code, output = run(["apt-get", *options, *arguments], cwd=work)
        if code != 0:
            print("accuracy: apt-get %s failed:\n%s" % (" ".join(arguments), output[-1000:]), file=sys.stderr)
            return None
    for archive in glob.glob(os.path.join(work, package + "_*.orig.tar.*")):
        must(["tar", "xf", archive, "--wildcards", wildcard], cwd=work)
    return (glob.glob(os.path.join(work, package + "-*/")) or [None])[0]


class Watched:
    """A job's run under `rollcall check`: exit code, what it wrote, the findings for which a build fails, and other ones.

    findings is None if no verdict was written, which is an error of rollcall.
    """

    def __init__(self, rollcall, command, timeout, cwd=None, options=(), **environment):
        directory = tempfile.mkdtemp(prefix="rollcall-accuracy-")
        verdict = directory + "/verdict.json"
        check = [rollcall, "check", "--dir", directory + "/run", "--output", "json=" + verdict,
                 "--timeout", str(timeout), *options, "--", *command]
        self.code, self.stdout, self.stderr = run_apart(check, timeout + 20, cwd, **environment)
        try:
            with open(verdict, encoding="utf-8") as file:
                every = json.load(file)["findings"]
            self.findings = [one for one in every if one["weight"] == "fails"]
            self.remarks = [one for one in every if one["weight"] != "fails"]
        except (OSError, ValueError):
            self.findings = None
            self.remarks = []
        shutil.rmtree(directory, ignore_errors=True)


def describe(findings):
    if findings is None:
        return "no verdict"
    return "; ".join("%s %s %s" % (f["certainty"], f["kind"], f["culprits"]) for f in findings) or "nothing"


class Load:
    """Processes that each keep a core busy during a `with` block, with a limit in any case."""

    def __init__(self, count):
        self.count = count
        self.processes = []

    def __enter__(self):
        for _ in range(self.count):
            # The kernel ends them when this process ends, for whatever reason.
            self.processes.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "sh", "-c", "ulimit -t %d; while :; do :; done" % LOAD_LIMIT_S],
                stdin=subprocess.DEVNULL, start_new_session=True))
        return self

    def __exit__(self, *exc):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
