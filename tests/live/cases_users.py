# SPDX-License-Identifier: Apache-2.0
"""Tests that others cannot read or stop anything: another user, a client of the port, a listener on the network."""

import glob
import os
import shutil
import subprocess
import sys

import live
from live import Command, require, until

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# Prints what it could access: RING JOURNAL SOCKET PID...
STRANGER = r"""
import os, signal, socket, sys
ring, journal, agent = sys.argv[1:4]
run = os.path.dirname(journal)

def attempt(what, action):
    try:
        got = action()
    except (PermissionError, ConnectionError):
        return
    if got != b"":
        print("could", what, got)

def talk(name):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(60)
        peer.connect(name)
        return peer.recv(1)  # b"": closed

attempt("list the runs", lambda: os.listdir(os.path.dirname(run)))
attempt("list the run", lambda: os.listdir(run))
for path in (ring, journal, agent):
    for mode in ("rb", "r+b"):
        attempt("open " + path, lambda: open(path, mode))
attempt("make a ring", lambda: open(os.path.join(os.path.dirname(ring), "x.ring"), "wb"))
attempt("remove a ring", lambda: os.unlink(ring) or "removed")
attempt("talk to the agent", lambda: talk(agent))
attempt("talk to the agent", lambda: talk("\0" + agent))
for pid in map(int, sys.argv[4:]):
    attempt("signal %d" % pid, lambda: os.kill(pid, signal.SIGTERM) or "sent")
    for name in ("environ", "mem", "maps"):  # the token is in the environment
        attempt("read %s of %d" % (name, pid), lambda: open("/proc/%d/%s" % (pid, name), "rb").read(1))
print("tried")
"""

# In a network namespace: FILE ADDRESS COMMAND... adds the address to the loopback device, writes all packets to FILE,
# and ends with the exit code of the command.
SNIFFER = r"""
import fcntl, socket, struct, subprocess, sys, threading
SIOCSIFADDR, SIOCSIFFLAGS, IFF_UP, ETH_P_ALL = 0x8916, 0x8914, 1, 3
path, address, *command = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as setup:
    for name, number in (("lo", "127.0.0.1"), ("lo:1", address)):
        fcntl.ioctl(setup, SIOCSIFADDR, struct.pack("16sHH4s8x", name.encode(), socket.AF_INET, 0,
                                                    socket.inet_aton(number)))
    fcntl.ioctl(setup, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
packets.bind(("lo", 0))
packets.settimeout(0.5)
ended = threading.Event()

def listen():
    with open(path, "wb") as file:
        while True:
            try:
                file.write(packets.recv(1 << 17))
            except TimeoutError:
                if ended.is_set():
                    return

thread = threading.Thread(target=listen)
thread.start()
code = subprocess.call(command)
ended.set()
thread.join()
sys.exit(code)
"""


def _variable(pid, name):
    with open("/proc/%d/environ" % pid, "rb") as file:
        variables = dict(line.split("=", 1) for line in file.read().decode().split("\0") if "=" in line)
    return variables[name]


def second_user(scene):
    """Another user cannot access rings, journal, socket, token and processes; the verdict is as usual."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        raise live.Unavailable("needs root and setpriv")
    with Command(scene.run(on_hang="kill", directory=False) + scene.job("skip", gate=True)) as job:
        job.says("stepping")
        ranks = until(lambda: live.ranks_among(job.processes()), "ranks", job)
        run = _variable(ranks[0], "ROLLCALL_DIR")
        rings = until(lambda: glob.glob(os.path.join(run, "rings", "*.ring")), "rings", job)
        require(run.startswith("/dev/shm/"), "others may not enter the place at all: " + run, job)
        stranger = subprocess.run(
            NOBODY + [sys.executable, "-c", STRANGER, rings[0], os.path.join(run, "journal.jsonl"),
                      os.path.join(run, "agent.sock"), str(job.pid)] + [str(pid) for pid in ranks],
            cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        require(stranger.stdout == "tried\n", "another user:\n%s%s" % (stranger.stdout, stranger.stderr), job)
        scene.open_gate()
        job.ends(live.ENDED_CODE)
        live.check_skip(live.read_verdict(scene.verdict_file), 4, job)
    shutil.rmtree(run)  # outside the scene's directory


def port_without_token(scene):
    """A client of the port with another token gets an error, and changes nothing."""
    wrong = {"ROLLCALL_TOKEN": "0" * 32}
    with Command(scene.run(on_hang="kill") + scene.job("skip", gate=True)) as job:
        job.says("stepping")
        ranks = until(lambda: live.ranks_among(job.processes()), "ranks", job)
        address = _variable(ranks[0], "ROLLCALL_COLLECTOR")
        with Command([scene.rollcall, "agent", "--dir", scene.path("stranger"), "--collector", address],
                     wrong) as agent:
            agent.says("not this run's token")
        with Command([scene.rollcall, "doctor", "--collector", address], wrong) as doctor:
            doctor.ends(1)
            require("not this run's token" in doctor.stdout(), "doctor says nothing", doctor)
        with Command([scene.rollcall, "doctor", "--collector", address],
                     {"ROLLCALL_TOKEN": _variable(ranks[0], "ROLLCALL_TOKEN")}) as doctor:
            doctor.says("serves agents of this node")
        scene.open_gate()
        job.ends(live.ENDED_CODE)
        verdict = live.read_verdict(scene.verdict_file)
        require(verdict["ranks"] == 4, "ranks: %s" % verdict["ranks"], job)
        live.check_skip(verdict, 4, job)


def who_listens(scene):
    """An agent's connection to another machine hides the token. (On one machine root can read it: the control.)"""
    inside = live.need_unshare("-n")
    for address, is_readable in (("127.0.0.1", True), ("10.0.0.1", False)):
        packets = scene.path("packets-" + address)
        with Command([*inside, sys.executable, "-c", SNIFFER, packets, "10.0.0.1",
                      *scene.run("--listen", address, on_hang="kill", directory=False),
                      *scene.job("skip", extra=["--mca", "oob_tcp_if_include", "lo"])]) as job:
            job.ends(live.ENDED_CODE)
            live.check_skip(live.read_verdict(scene.verdict_file), 4, job)
            with open(packets, "rb") as file:
                require((b"rollcall-token" in file.read()) == is_readable, "listening on " + address, job)


CASES = {case.__name__: case for case in (second_user, port_without_token, who_listens)}
