# SPDX-License-Identifier: Apache-2.0
"""Tests that jobs start under rollcall as without it, with and without Open MPI's fork agent; failures are reported."""

import os
import shutil

import live
from live import Command, require

# Without the fork agent, and with it.
FORK_AGENT = ({"ROLLCALL_FORK_AGENT": "0"}, {"ROLLCALL_FORK_AGENT": "1"})


def _started(command, environment):
    """Runs a job and returns its exit code, sorted output and standard error."""
    with Command(command, environment) as job:
        code = job.wait()
        require(code is not None, "still running", job)
        return code, sorted(job.stdout().splitlines()), job.stderr()


def _programs(scene):
    """Makes programs in several directories: an MPI program, one that prints its arguments, a script."""
    for name in ("here", "first", "second"):
        directory = scene.path(name)
        os.mkdir(directory)
        shutil.copy(scene.program, os.path.join(directory, "prog"))
        os.symlink(shutil.which("cat"), os.path.join(directory, "show"))
        with open(os.path.join(directory, "greet"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "%s $0 in $PWD: $*"\n' % name)
        os.chmod(os.path.join(directory, "greet"), 0o755)
    shutil.copy(scene.path("here/prog"), scene.path("here/other"))
    return scene.path("here"), scene.path("first"), scene.path("second")


def names_as_bare(scene):
    """Names without directory, --path, --wdir, PATH, several programs: file, arguments and exit code as bare."""
    here, first, second = _programs(scene)
    path = os.environ["PATH"]
    mpirun = ["mpirun.openmpi", "--oversubscribe"]
    arguments = "/proc/self/cmdline"
    lines = (
        (mpirun + ["-n", "2", "prog", "exit7", ":", "-n", "1", "other", "exit7"], path),
        (mpirun + ["-n", "1", "show", arguments], path),
        (mpirun + ["-n", "1", "--index-argv-by-rank", "show", arguments], path),
        (mpirun + ["-n", "1", "greet", "a b"], path),
        (mpirun + ["-n", "1", "greet"], path + ":" + first),
        (mpirun + ["-n", "1", "greet"], path + ":.:" + first),
        (mpirun + ["-n", "1", "greet"], path + ":../second"),
        (mpirun + ["-n", "1", "--path", "../first:" + second, "greet"], path),
        (mpirun + ["-n", "1", "--path", first, "prog", "exit7"], path),
        (mpirun + ["-n", "1", "--wdir", first, "greet", ":", "-n", "1", "--wdir", second, "greet"], path),
        (mpirun + ["-n", "1", "-x", "PATH=" + second + ":" + path, "greet"], path),
        (mpirun + ["-n", "1", "no-such-program"], path))
    os.chdir(here)
    for line, search in lines:
        bare = _started(line, {"PATH": search})
        for agent in FORK_AGENT:
            got = _started(scene.run(directory=False) + line, {"PATH": search, **agent})
            require(got[:2] == bare[:2], "%s, %s: bare %s, watched %s" % (" ".join(line), agent, bare, got))
            if "exit7" in line:
                verdict = live.read_verdict(scene.verdict_file)
                ranks = sum(int(line[at + 1]) for at, word in enumerate(line) if word == "-n")
                require(verdict["ranks"] == ranks and not verdict["findings"], "not recorded: %s" % verdict)


def no_interpreter(scene):
    """A script without #!: Open MPI does not run it; `rollcall run` alone does, as a shell."""
    script = scene.path("plain")
    with open(script, "w", encoding="utf-8") as file:
        file.write("echo started; exit 4\n")
    os.chmod(script, 0o755)
    with Command(scene.run(directory=False) + [script]) as job:
        job.ends(4)
        require("started" in job.stdout(), "nothing was printed", job)
    for agent in FORK_AGENT:
        with Command(scene.run(directory=False) + live.jobs.launcher("openmpi", 1) + [script], agent) as job:
            require(job.wait() not in (None, 0) and "started" not in job.stdout(),
                    "bare it does not start", job)


def deaths(scene):
    """How a rank ended, and that it was the first, is equally certain with and without a fork agent."""
    for mode, words in (("segv", "was killed by SIGSEGV"), ("kill", "was killed by SIGKILL"),
                        ("exit5", "exited with 5")):
        for agent in FORK_AGENT:
            with Command(scene.run() + scene.job(mode), agent) as job:
                require(job.wait() is not None, "still running", job)
            verdict = live.read_verdict(scene.verdict_file)
            facts = [(one["kind"], one["culprits"], one["certainty"]) for one in verdict["findings"]]
            require(facts == [("rank-died", [1], "proven")], "%s: %s" % (agent, facts), job)
            title = verdict["findings"][0]["title"]
            require(title.startswith("rank 1 " + words), "%s: %s" % (agent, title), job)
            shutil.rmtree(scene.run_directory)


def _said(scene, command, code, environment=None):
    """Runs a job and returns rollcall's lines on its stderr."""
    with Command(scene.run(directory=False) + command, environment) as job:
        job.ends(code)
        lines = [line for line in job.stderr().splitlines() if line.startswith("rollcall: ")]
        require("statically" not in job.stderr(), "that was not the reason", job)
        return lines


def nothing_started(scene):
    """The launcher fails or is killed: its end is reported, and static linking is not given as the reason."""
    mpirun = live.jobs.launcher("openmpi", 1)
    with Command(mpirun + ["no-such-program"]) as bare:
        code = bare.wait()
    lines = _said(scene, mpirun + ["no-such-program"], code)
    require(len(lines) == 1 and "exit code %d" % code in lines[0], "printed: %s" % lines)
    lines = _said(scene, ["sh", "-c", "kill -KILL $$"], 128 + 9)
    require(len(lines) == 1 and "ended by SIGKILL" in lines[0], "printed: %s" % lines)


def refused_ranks(scene):
    """Ranks that could not record are counted, with the reason."""
    mpirun = live.jobs.launcher("openmpi", 2)
    spoil = ["sh", "-c", 'chmod 755 "$ROLLCALL_DIR"; exec "$@"', "sh", scene.program, "exit7"]
    lines = _said(scene, mpirun + spoil, live.JOB_CODE)
    require("2 ranks could not record: the run directory" in lines[-1], "printed: %s" % lines)


CASES = {case.__name__: case for case in (
    names_as_bare, no_interpreter, deaths, nothing_started, refused_ranks)}
