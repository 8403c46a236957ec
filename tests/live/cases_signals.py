# SPDX-License-Identifier: Apache-2.0
"""Tests that the launcher gets each signal once, whoever sends it to whom, and that a terminal is the job's."""

import os
import signal
import sys

import live
from live import Command, require, until

PROGRAM = os.path.join(live.HERE, "signal_log.py")
# Starts a command on a terminal of its own; what is written into the file is typed there.
TERMINAL = ["sh", "-c", 'typed=$0; exec "$@" < "$typed"']
SPAWN = "import pty, sys; pty.spawn(sys.argv[1:])"


class Log:
    """What the launcher has received."""

    def __init__(self, scene, job_words, *options):
        self.path = scene.path("log")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.words = job_words + [sys.executable, PROGRAM, self.path, *options]

    def names(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="ascii") as file:
            return file.read().split()

    def has(self, names, job):
        until(lambda: len(self.names()) >= len(names), "the signals %s" % names, job)
        require(self.names() == names, "%s instead of %s" % (self.names(), names), job)

    def ends_with(self, names, job):
        """The launcher has got `names` and no other when it gets a last signal, which ends it. Signals are passed on in
        the order in which rollcall received them, so that no other can follow."""
        self.has(names, job)
        os.kill(_rollcall(job), signal.SIGUSR2)
        until(lambda: "SIGUSR2" in self.names(), "the last signal", job)
        require(self.names() == names + ["SIGUSR2"], "%s after %s" % (self.names(), names), job)


def _named(name, job):
    def comm(pid):
        try:
            with open("/proc/%d/comm" % pid, encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            return ""
    return [pid for pid in job.processes() if comm(pid) == name]


def _rollcall(job):
    found = [pid for pid in _named("rollcall", job) if live.command_line(pid)[1:2] == ["run"]]
    require(len(found) == 1, "processes of rollcall run: %s" % found, job)
    return found[0]


def _state(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def _everybody(job, number):
    """As Slurm's and a container runtime's managers do for a control group. The launcher is the first."""
    first = [_rollcall(job)]
    for pid in first + [pid for pid in job.processes() if pid not in first]:
        os.kill(pid, number)


def signals_once(scene):
    """To rollcall alone, to its group, to both, to each process: the launcher gets one signal."""
    cases = (
        ("rollcall alone", lambda job: os.kill(job.pid, signal.SIGTERM)),
        ("the group", lambda job: os.killpg(job.pid, signal.SIGTERM)),
        ("each process", lambda job: _everybody(job, signal.SIGTERM)),
        ("rollcall and then the group", lambda job: (os.kill(job.pid, signal.SIGTERM),
                                                     os.killpg(job.pid, signal.SIGTERM))),
        ("the group and then rollcall", lambda job: (os.killpg(job.pid, signal.SIGTERM),
                                                     os.kill(job.pid, signal.SIGTERM))))
    for name, send in cases:
        log = Log(scene, scene.run(directory=False))
        with Command(log.words) as job:
            job.says("ready")
            print(name)
            send(job)
            log.ends_with(["SIGTERM"], job)
            job.ends(0)


def signals_of_a_launcher_in_its_own_group(scene):
    """A launcher that has left the group, as timeout(1) does, gets the group's signals from rollcall."""
    log = Log(scene, scene.run(directory=False), "--own-group")
    with Command(log.words) as job:
        job.says("ready")
        os.killpg(job.pid, signal.SIGINT)
        log.ends_with(["SIGINT"], job)


def signals_of_timeout(scene):
    """timeout(1) signals its child, and then the group: the launcher gets one SIGTERM, and `-k` leaves nobody."""
    before = ["timeout", "600"]
    log = Log(scene, before + scene.run(directory=False))
    with Command(log.words) as job:
        job.says("ready")
        os.kill(job.pid, signal.SIGALRM)  # its time is up
        log.ends_with(["SIGTERM", "SIGCONT"], job)
    log = Log(scene, ["timeout", "-k", "600", "600"] + scene.run(directory=False), "--ignore")
    with Command(log.words) as job:
        job.says("ready")
        os.kill(job.pid, signal.SIGALRM)
        log.has(["SIGTERM", "SIGCONT"], job)
        os.kill(job.pid, signal.SIGALRM)
        job.ends(-signal.SIGKILL)
        until(lambda: not job.processes(), "the end of all processes", job)


class _Typing:
    """A terminal with a command, and what is typed there."""

    def __init__(self, scene, command):
        typed = scene.path("typed")
        if not os.path.exists(typed):
            os.mkfifo(typed)
        self._typed = os.open(typed, os.O_RDWR)
        self.words = TERMINAL[:2] + [TERMINAL[2], typed, sys.executable, "-c", SPAWN] + command

    def types(self, text):
        os.write(self._typed, text.encode())

    def close(self):
        os.close(self._typed)


def signals_of_the_terminal(scene):
    """The job reads from the terminal, and Ctrl-C reaches it once."""
    log = Log(scene, scene.run(directory=False))
    terminal = _Typing(scene, log.words)
    with Command(terminal.words) as job:
        job.says("ready")
        terminal.types("a line\n")
        job.says("read a line")
        terminal.types("\x03")
        log.ends_with(["SIGINT"], job)
    terminal.close()


def signals_of_job_control(scene):
    """Ctrl-Z stops rollcall and the job, so that the shell gets the terminal back, and `fg` continues both."""
    log = Log(scene, scene.run(directory=False))
    terminal = _Typing(scene, ["bash", "--norc", "--noprofile", "-i"])
    with Command(terminal.words) as job:
        terminal.types(" ".join("'%s'" % word for word in log.words) + "\n")
        job.says("ready ")
        ours = _rollcall(job)
        launcher = [pid for pid in job.processes() if live.command_line(pid)[1:2] == [PROGRAM]][0]
        terminal.types("\x1a")
        until(lambda: _state(ours) == "T" and _state(launcher) == "T", "a stop of both", job)
        job.says("Stopped")
        terminal.types("fg\n")
        log.has(["SIGTSTP", "SIGCONT"], job)
        until(lambda: _state(ours) != "T", "rollcall continues", job)
        log.ends_with(["SIGTSTP", "SIGCONT"], job)
        terminal.types("exit\n")
    terminal.close()


def signals_of_a_container(scene):
    """rollcall is process 1, and gets SIGTERM alone, as from `docker stop`: it is passed on, and all processes end."""
    log = Log(scene, live.need_unshare("-p", "-f", "--kill-child", "--mount-proc") + scene.run(directory=False))
    with Command(log.words) as job:
        job.says("ready")
        os.kill(_rollcall(job), signal.SIGTERM)
        log.ends_with(["SIGTERM"], job)
        job.ends(0)
        until(lambda: not job.processes(), "the end of all processes", job)


def signals_leave_nothing(scene):
    """The process that listens to the group's signals has another name, keeps no file, and ends with rollcall."""
    log = Log(scene, scene.run(directory=False))
    with Command(log.words) as job:
        job.says("ready")
        listeners = _named("group-signals", job)
        require(len(listeners) == 1, "listeners: %s" % listeners, job)
        line = [word for word in live.command_line(listeners[0]) if word]
        require(line == ["group-signals"], "its command line is %s" % line, job)
        files = os.listdir("/proc/%d/fd" % listeners[0])
        require(files == ["0"], "it holds the descriptors %s" % files, job)
        require(os.getpgid(listeners[0]) == job.pid, "it is not in the group", job)
        os.kill(job.pid, signal.SIGKILL)
        until(lambda: not _named("group-signals", job), "its end", job)
        require(log.names() == [], "the launcher got %s" % log.names(), job)
    # No room for rollcall: it becomes the launcher, which has no child then.
    log = Log(scene, ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"] + scene.run(directory=False))
    with Command(log.words) as job:
        job.says("ready %d" % job.pid)
        require(not _named("group-signals", job), "a listener of nobody", job)


CASES = {case.__name__: case for case in (
    signals_once, signals_of_a_launcher_in_its_own_group, signals_of_timeout, signals_of_the_terminal,
    signals_of_job_control, signals_of_a_container, signals_leave_nothing)}
