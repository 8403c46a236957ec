# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of three nodes on this machine, for the tests: runs as root, without systemd, removed at the end.

Each node is a slurmd in UTS, PID, IPC and mount namespaces of its own, with its host name and its /dev/shm. If these
are not allowed (containers), there is no cluster, and why_not() returns the reason.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "srun", "squeue", "setpriv", "unshare")
NODES = 3
PATIENCE_S = 60

CONFIG = """
ClusterName=rollcall
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CryptoType=crypto/munge
SlurmUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=node[1-3] NodeHostname=node[1-3] NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

NODE = """hostname {node} && mount -t tmpfs none /dev/shm && exec slurmd -D -N {node} -f {directory}/slurm.conf"""


def why_not():
    """Returns why no cluster can be started; empty if one can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return "not installed: " + ", ".join(missing)
    if os.geteuid() != 0:
        return "it takes root"
    tried = subprocess.run(["unshare", "--uts", "--pid", "--ipc", "--mount", "--fork", "--mount-proc", "true"],
                           stderr=subprocess.DEVNULL, check=False)
    return "" if tried.returncode == 0 else "namespaces are not allowed"


def _free_ports(count):
    """Returns the first of `count` consecutive free ports."""
    for first in range(16821, 30000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


class Cluster:
    """A running cluster, as a context manager. SLURM_CONF is set inside it."""

    def __init__(self):
        self._directory = tempfile.mkdtemp(prefix="rollcall-slurm-")
        os.chmod(self._directory, 0o755)
        self._daemons = []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        # The nodes are ended first, because they report to the controller.
        for daemon in reversed(self._daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()  # the end of the first process of a PID namespace ends the others
                daemon.wait(20)
        os.environ.pop("SLURM_CONF", None)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _spawn(self, *words):
        with open(os.path.join(self._directory, "daemons.log"), "ab") as log:
            self._daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                  start_new_session=True))

    def _start(self):
        directory = self._directory
        munge = os.path.join(directory, "munge")
        os.mkdir(munge)
        os.mkdir(os.path.join(directory, "state"))
        subprocess.run(["mungekey", "-c", "-k", munge + "/key"], check=True)
        for path in (munge, munge + "/key"):
            shutil.chown(path, "munge", "munge")
        os.chmod(munge, 0o755)
        self._spawn("setpriv", "--reuid", "munge", "--regid", "munge", "--clear-groups", "munged", "--foreground",
                    "--force", "--socket=" + munge + "/socket", "--key-file=" + munge + "/key",
                    "--pid-file=" + munge + "/pid", "--log-file=" + munge + "/log", "--seed-file=" + munge + "/seed")
        first = _free_ports(NODES + 1)
        with open(os.path.join(directory, "slurm.conf"), "w", encoding="utf-8") as config:
            config.write(CONFIG.format(host=socket.gethostname(), port=first + NODES, directory=directory, first=first,
                                       last=first + NODES - 1))
        os.environ["SLURM_CONF"] = config.name
        self._wait(lambda: os.path.exists(munge + "/socket"), "munged")
        self._spawn("slurmctld", "-D", "-f", config.name)
        for number in range(1, NODES + 1):
            self._spawn("unshare", "--uts", "--pid", "--ipc", "--mount", "--fork", "--kill-child", "--mount-proc", "sh",
                        "-c", NODE.format(node="node%d" % number, directory=directory))
        self._wait(self._idle, "nodes")

    def _idle(self):
        done = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%N %t"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False, text=True)
        return done.stdout.split().count("idle") == NODES

    def _wait(self, is_there, what):
        deadline = time.monotonic() + PATIENCE_S
        while not is_there():
            if time.monotonic() > deadline:
                raise RuntimeError("no %s in %d s: %s" % (what, PATIENCE_S, self._log()))
            time.sleep(0.1)

    def _log(self):
        text = ""
        for name in sorted(os.listdir(self._directory)):
            if name.endswith(".log"):
                with open(os.path.join(self._directory, name), encoding="utf-8", errors="replace") as log:
                    text += name + ": " + log.read()[-2000:] + "\n"
        return text
