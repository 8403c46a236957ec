# SPDX-License-Identifier: Apache-2.0
"""Starts MPI jobs for the tests, bounds them in time, and leaves no process behind.

Every process of a job inherits a token in its environment. The processes of the job are found by
it, whatever sessions and process groups the launcher creates.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import tempfile
import time
import uuid

TOKEN = "ROLLCALL_TEST_JOB"
# The exit code of a test that cannot run on this machine.
SKIPPED = 77
# Far more than any job needs here, and far less than the time limit of the suite.
JOB_TIMEOUT_S = 60


def arguments_of_test(description, mpis, *switches):
    """Parses the command line of a test of one program."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--mpi", choices=mpis, required=True)
    for path in ("--rollcall", "--source", "--program"):
        parser.add_argument(path, required=True)
    for switch in switches:
        parser.add_argument(switch, action="store_true")
    return parser.parse_args()


def _shared_memory_of(pid):
    """Returns the files in /dev/shm that the process has mapped."""
    try:
        with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps:
            return {line.rstrip("\n").split(maxsplit=5)[5] for line in maps if " /dev/shm/" in line}
    except OSError:
        return set()


def _lives(pid):
    """Whether one of its threads has not ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
            state = stat.read().rpartition(")")[2].split()[0]
        return state not in ("Z", "X") or len(os.listdir("/proc/%d/task" % pid)) > 1
    except OSError:
        return False


def _writes_ring(pid):
    try:
        with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps:
            return any(".ring" in line and "rw-s" in line for line in maps)
    except OSError:
        return False


def make_directory():
    """Makes a directory for one job's run directory and verdict, in shared memory if possible."""
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.mkdtemp(prefix="rollcall-test-", dir=parent)


def launcher(mpi, ranks, extra_args=()):
    """Returns the words to put before a command to start it as `ranks` ranks."""
    if mpi == "fork":  # no MPI: tests/nccl_sim
        return [os.environ["ROLLCALL_FORK_LAUNCHER"], "-n", str(ranks), *extra_args]
    if mpi == "torch":
        return [os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_ranks.py"), str(ranks)]
    if mpi == "openmpi":
        return ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), *extra_args]
    return ["mpirun.mpich", "-n", str(ranks), *extra_args]


def keep_survivors(mpi):
    """Returns launcher arguments that keep the other ranks running when one is killed."""
    if mpi == "openmpi":
        return ["--enable-recovery"]
    # Hydra 4.0 kills all ranks when one of its children ends by a signal, so that a shell is the child. Its
    # proxy fails when the ended rank's side of the PMI socket is closed; the shell keeps it open for 8 s.
    return ["-disable-auto-cleanup", "sh", "-c", '"$@" || exec sleep 8', "sh"]


def _environment(token):
    env = dict(os.environ)
    env[TOKEN] = token
    # Continuous integration runs as root, which Open MPI refuses unless two variables allow it.
    env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return env


def _processes_with(token):
    wanted = ("%s=%s" % (TOKEN, token)).encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % entry, "rb") as environ:
                if wanted in environ.read().split(b"\0"):
                    yield int(entry)
        except OSError:
            continue  # it ended, or belongs to another user


class Job:
    """A command in its own session, with its output in files; as a context manager it kills all processes at exit."""

    def __init__(self, command):
        self.command = command
        self._token = uuid.uuid4().hex
        self._stdout = tempfile.TemporaryFile()
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._stdout, stderr=self._stderr,
            env=_environment(self._token), start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.kill_everything()
        self._stdout.close()
        self._stderr.close()

    def pid(self):
        return self._process.pid

    def running(self):
        return self._process.poll() is None

    def processes_of(self, executable):
        """Returns the pids of its processes that execute the file, in increasing order."""
        pids = []
        for pid in _processes_with(self._token):
            with contextlib.suppress(OSError):  # it ended
                if os.readlink("/proc/%d/exe" % pid) == os.path.realpath(executable):
                    pids.append(pid)
        return sorted(pids)

    def wait(self, timeout_s=JOB_TIMEOUT_S):
        """Returns the exit code, negative for a signal; None if it is still running."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def kill_everything(self):
        """Sends SIGKILL to every process of the job until none is left.

        All are stopped first, so that no process observes the end of another, as when a node fails. A
        killed MPI library leaves its shared memory files, which a long test run would accumulate: removes
        the files that the processes had mapped, except rollcall's.
        """
        deadline = time.monotonic() + 20
        segments = set()
        killed = set()
        self._signal_all(signal.SIGSTOP)
        while time.monotonic() < deadline:
            left = list(_processes_with(self._token))
            # A killed process soon has no environment and leaves the list. It has not ended before it is a zombie.
            if not left and not any(map(_lives, killed)):
                break
            killed.update(left)
            for pid in left:
                segments |= _shared_memory_of(pid)
            self._signal_all(signal.SIGKILL)
            time.sleep(0.01)
        self._process.wait(20)
        for path in segments:
            if "/rollcall-" not in path and os.path.exists(path):
                os.unlink(path)

    def kill_ranks(self):
        """Sends SIGKILL only to the ranks: the processes that write a ring, whatever they execute."""
        self._signal_all(signal.SIGKILL, _writes_ring)

    def abort_ranks(self, executable, timeout_s=JOB_TIMEOUT_S):
        """Sends SIGABRT to the processes that run the executable, but not to their children; returns when the kernel
        has written their cores.

        All processes are stopped before, so that no rank observes the end of another. Launchers stay stopped: they
        kill the other ranks once one has ended, which would truncate cores.
        """
        def executes(pid):
            try:
                same = os.readlink("/proc/%d/exe" % pid) == os.path.realpath(executable)
            except OSError:
                return False  # a zombie, or it ended
            return same and pid != self._process.pid

        def is_rank(pid):
            with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
                return executes(pid) and not executes(int(stat.read().rpartition(")")[2].split()[1]))

        ranks = [pid for pid in _processes_with(self._token) if is_rank(pid)]
        self._signal_all(signal.SIGSTOP)
        self._signal_all(signal.SIGABRT, ranks.__contains__)
        self._signal_all(signal.SIGCONT, ranks.__contains__)
        deadline = time.monotonic() + timeout_s
        while any(executes(pid) for pid in ranks) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _signal_all(self, number, chosen=lambda pid: True):
        for pid in _processes_with(self._token):
            try:
                if chosen(pid):
                    os.kill(pid, number)
            except OSError:
                pass  # it ended

    def stdout(self):
        return self._read(self._stdout)

    def stderr(self):
        return self._read(self._stderr)

    @staticmethod
    def _read(stream):
        # pread: the job may still be writing through the same file description.
        size = os.fstat(stream.fileno()).st_size
        return os.pread(stream.fileno(), size, 0).decode("utf-8", "replace")
