"""Another user of the machine, and one who reaches the port without the token: they read and stop nothing."""

import glob
import os
import shutil
import subprocess
import sys

import live
from live import Command, require, until

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

# Prints what it could do: RING JOURNAL SOCKET PID...
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


def _variable(pid, name):
    with open("/proc/%d/environ" % pid, "rb") as file:
        variables = dict(line.split("=", 1) for line in file.read().decode().split("\0") if "=" in line)
    return variables[name]


def second_user(scene):
    """Another user finds rings, journal, socket, token and processes closed; the verdict comes as ever."""
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
    shutil.rmtree(run)  # not below the scene's directory


def port_without_token(scene):
    """Who reaches the port and has another token is told so, and changes nothing."""
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


CASES = {case.__name__: case for case in (second_user, port_without_token)}
