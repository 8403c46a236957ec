# SPDX-License-Identifier: Apache-2.0
"""Tests of `rollcall top`: its screen in a terminal of tmux, and its JSON."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import live
from live import Command, require, until

COLUMNS, LINES = 80, 24
STALL_AFTER_S = 3


class Terminal:
    """A terminal of tmux in which `rollcall top` runs, and what remains of it on the screen."""

    def __init__(self, scene, *words):
        if shutil.which("tmux") is None:
            raise live.Unavailable("tmux is not installed")
        self._tmux = ["tmux", "-f", "/dev/null", "-S", scene.path("tmux")]
        self._pid_file = scene.path("top.pid")
        self._script = scene.path("top.sh")
        with open(self._script, "w", encoding="utf-8") as script:
            script.write('echo $$ > "%s"\nexec "%s" top %s\n' % (self._pid_file, scene.rollcall, " ".join(words)))
        self._command = "sh %s; echo ended with $?; stty -a | grep -o -- '-*icanon'; read line" % self._script

    def __enter__(self):
        self._run("new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), self._command)
        return self

    def __exit__(self, *exc):
        self._run("kill-server")

    def _run(self, *words):
        return subprocess.run(self._tmux + list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False).stdout

    def keys(self, *keys):
        self._run("send-keys", *keys)

    def resize(self, columns, lines):
        self._run("resize-window", "-x", str(columns), "-y", str(lines))

    def screen(self):
        return self._run("capture-pane", "-p")

    def pid(self):
        with open(self._pid_file, encoding="utf-8") as file:
            return int(file.read())

    def shows(self, *words):
        """Waits until the screen has all the words, and returns it."""
        screen = [""]

        def has_all():
            screen[0] = self.screen()
            return all(word in screen[0] for word in words)

        try:
            until(has_all, "on the screen: %s" % ", ".join(words))
        except live.Failure as failure:
            raise live.Failure("%s\n%s" % (failure, screen[0])) from failure
        return screen[0]


@contextlib.contextmanager
def watched(scene, command):
    """A job that runs under rollcall, and the terminal in which `rollcall top` shows it."""
    with Command(command) as job:
        job.says("stepping")
        with Terminal(scene, scene.run_directory) as top:
            top.shows("4 of 4 ranks live")
            yield job, top


def top_shows_a_straggler(scene):
    """Who comes last, the frontier and the keys; the terminal is as before after q, also after a resize."""
    with watched(scene, scene.run() + scene.job("late", gate=True)) as (job, top):
        screen = top.shows("rank 1:", "samples", "MPI_Barrier #", "outside every call")
        require("rank 2:" not in screen or screen.index("rank 1:") < screen.index("rank 2:"), screen, job)
        top.keys("Enter")
        top.shows("MPI_Barrier #", "Esc back")
        top.keys("Escape")
        top.shows("COMMUNICATOR")
        top.keys("d")
        top.shows("the diagnosis found nothing")
        top.keys("Escape")
        top.shows("COMMUNICATOR", "MPI_COMM_WORLD")  # its name came with the ring
        top.keys("/")
        top.keys("no such communicator", "Enter")
        until(lambda: "MPI_COMM_WORLD" not in top.screen(), "a table without it", job)
        top.resize(50, 10)
        until(lambda: "rollcall top" in top.screen() and len(top.screen().rstrip("\n").split("\n")) == 10,
              "ten lines", job)
        top.keys("q")
        top.shows("ended with 0")
        screen = top.screen()
        require("-icanon" not in screen, "the terminal was not given back:\n" + screen, job)
        scene.open_gate()
        job.ends(live.JOB_CODE)


def top_shows_a_stall_and_the_end(scene):
    """The class that waits and the rank that does not come; its stack; the finding; the verdict at the end."""
    run = scene.run("--stall-after", str(STALL_AFTER_S))
    with watched(scene, run + scene.job("read", gate=True)) as (job, top):
        scene.open_gate()
        top.shows("0,2,3", "waiting", "MPI_Barrier #", "late now by", "look like a hang")
        top.shows("likely: rank 1")
        top.keys("Down")
        top.keys("t")
        top.shows("ReadNothing")
        os.kill(job.pid, signal.SIGTERM)
        top.shows("rollcall: the job ended", "rank 1", "ended with 0")


def top_ends_with_the_job(scene):
    """A job that ends well: one line, exit code 0, and the terminal is as before."""
    with watched(scene, scene.run() + scene.job("exit7", gate=True)) as (job, top):
        scene.open_gate()
        job.ends(live.JOB_CODE)
        screen = top.shows("rollcall: the job ended", "ended with 0", "icanon")
        require("-icanon" not in screen, "the terminal was not given back:\n" + screen, job)
    require(not os.path.exists(os.path.join(scene.run_directory, "collector")), "the file with the token is left")


def top_restores_the_terminal_on_a_signal(scene):
    """SIGTERM while the screen is shown."""
    with watched(scene, scene.run() + scene.job("exit7", gate=True)) as (job, top):
        os.kill(top.pid(), signal.SIGTERM)
        screen = top.shows("ended with 143", "icanon")
        require("-icanon" not in screen, "the terminal was not given back:\n" + screen, job)
        scene.open_gate()
        job.ends(live.JOB_CODE)


def top_prints_json(scene):
    """--once --json needs no terminal; without an argument, the newest run is found."""
    def state(*words):
        return subprocess.run([scene.rollcall, "top", "--once", "--json", *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=live.PATIENCE_S, check=False)

    def straggler():
        shown = state()
        # The newest run may be one of another test, which just ends.
        one = json.loads(shown.stdout) if shown.returncode == 0 else None
        return one if one and one["ranks"] == 4 and one["late"] else None

    with Command(scene.run(directory=False) + scene.job("late", gate=True)) as job:
        job.says("stepping")
        shown = until(straggler, "a straggler", job)
        require(shown["late"][0]["rank"] == 1, json.dumps(shown, indent=1), job)
        require(sum(one["count"] for one in shown["classes"]) == 4, json.dumps(shown, indent=1), job)
        scene.open_gate()
        job.ends(live.JOB_CODE)
    gone = state(scene.directory)
    require(gone.returncode == 2 and "no `rollcall run` is running" in gone.stderr, gone.stderr)


CASES = {case.__name__: case for case in (
    top_shows_a_straggler, top_shows_a_stall_and_the_end, top_ends_with_the_job,
    top_restores_the_terminal_on_a_signal, top_prints_json)}
