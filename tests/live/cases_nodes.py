# SPDX-License-Identifier: Apache-2.0
"""Tests of the parts of rollcall when they are started separately: a collector, agents, nodes."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
import urllib.request

import live
from live import Command, require, until

# Simulates a node: `agent HOST COMMAND...` runs the command here, with the host's name, its own shared
# memory, and only the environment variables of a login, plus the token by which this test finds its
# processes.
REMOTE_SHELL = """#!/bin/sh
while [ "$1" != "${1#-}" ]; do shift; done
host=$1
shift
clock=$(sed -n "s/^$host //p" "$0.clocks")
exec unshare -u -m env -i PATH="$PATH" HOME="$HOME" %(token)s="$%(token)s" \\
  ${clock:+ROLLCALL_TEST_CLOCK_SHIFT_NS=$clock} sh -c '
hostname "$1" && mount -t tmpfs none /dev/shm || exit 1
shift
exec sh -c "$*"' sh "$host" "$@"
""" % {"token": live.jobs.TOKEN}

# An agent ends on request; an agent that missed the request would remain for 30 s.
SOON_S = 15
# Several samples of the agent, which are 0.1 s apart.
SILENCE_S = 0.7


# Launcher arguments for two ranks per host.
ON_HOSTS = {
    "openmpi": lambda hosts, shell: [
        "-H", ",".join(host + ":2" for host in hosts), "--mca", "plm_rsh_agent", shell,
        "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"],
    "mpich": lambda hosts, shell: [
        "-hosts", ",".join(hosts), "-ppn", "2", "-launcher", "ssh", "-launcher-exec", shell,
        "-localhost", "127.0.0.1",
        # The nodes are one machine to UCX, which then tries shared memory.
        "-genv", "UCX_TLS", "tcp,self"],
}


@contextlib.contextmanager
def other_nodes(scene, hosts, mpi="openmpi", clocks_s=()):
    """Yields launcher arguments for two ranks on each of `hosts`. Each host has its own run directory, and
    its clock is ahead by the seconds in `clocks_s`."""
    live.need_unshare("-u", "-m")
    shell = scene.path("remote-shell")
    with open(shell, "w", encoding="utf-8") as file:
        file.write(REMOTE_SHELL)
    os.chmod(shell, 0o755)
    with open(shell + ".clocks", "w", encoding="utf-8") as file:
        for host, ahead_s in zip(hosts, clocks_s):
            file.write("%s %d\n" % (host, ahead_s * 10**9))
    # In shared memory, which the nodes do not share; the gate and the program are on disk.
    shared = live.jobs.make_directory()
    scene.run_directory = os.path.join(shared, "run")
    try:
        yield ON_HOSTS[mpi](hosts, shell)
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def _namespaces(pids):
    return {os.readlink("/proc/%d/ns/uts" % pid) for pid in pids}


def two_nodes(scene):
    """Ranks on two other nodes: each node's agent starts automatically, is not bound to a rank's core, and ends
    with the job."""
    with other_nodes(scene, ["nodea", "nodeb"]) as extra, Command(
            scene.run() + scene.job("skip", gate=True, extra=[*extra, "--bind-to", "core:overload-allowed"])) as job:
        job.says("stepping")
        until(lambda: len(live.agents_among(job.processes())) >= 2, "two agents", job)
        agents = live.agents_among(job.processes())
        require(len(agents) == 2 and len(_namespaces(agents)) == 2, "agents: %s" % agents, job)
        cores = [os.sched_getaffinity(pid) for pid in agents]
        require(cores == 2 * [os.sched_getaffinity(0)], "agents run on %s" % cores, job)
        scene.open_gate()
        live.check_skip(scene.verdict(job), 4, job)
        require("4 ranks on 2 hosts" in job.stderr(), "not on 2 hosts", job)
        os.kill(job.pid, signal.SIGTERM)
        require(job.wait() is not None, "still running", job)
        require("on each of nodea, nodeb  (--bundle" in job.stderr(), "where are the traces?", job)
        until(lambda: not live.agents_among(job.processes()), "the agents' end", job, patience_s=SOON_S)
        live.check_skip(live.read_verdict(scene.verdict_file), 4, job)


def two_nodes_that_hang_at_once(scene):
    """As above, but without earlier iterations: not all ranks are known when the first two diverge."""
    with other_nodes(scene, ["nodea", "nodeb"]) as extra, Command(
            scene.run(on_hang="kill") + scene.job("skip", extra=extra)) as job:
        job.ends(live.ENDED_CODE)
        require(job.stderr().count("rollcall: hung") == 1, "not one verdict", job)
        live.check_skip(live.read_verdict(scene.verdict_file), 4, job)


def _check_killed(verdict, *started):
    findings = verdict["findings"]
    require(len(findings) == 1, "not one finding: %s" % findings, *started)
    finding = findings[0]
    require(finding["kind"] == "rank-died" and finding["culprits"] == [1], "found %s" % finding, *started)
    require("rank 1 was killed by SIGKILL" in finding["title"], finding["title"], *started)
    require("clocks of nodea and nodeb differ by 20.0 s" in " ".join(finding["notes"]),
            "notes: %s" % finding["notes"], *started)


def _killed_with_clocks_apart(scene, mpi):
    with other_nodes(scene, ["nodea", "nodeb"], mpi, [10, -10]) as extra:
        packed = scene.path("job.zst")
        with Command(scene.run("--bundle", packed) +
                     scene.job("kill", gate=True, extra=extra, mpi=mpi)) as job:
            job.says("stepping")
            scene.open_gate()
            require(job.wait() is not None, "still running", job)
            _check_killed(live.read_verdict(scene.verdict_file), job)
            _check_killed(scene.analyze(of=packed), job)


def two_nodes_with_clocks_apart(scene):
    """The killed rank is the culprit, although by the clocks the others ended 20 s before it."""
    _killed_with_clocks_apart(scene, "openmpi")


def two_nodes_with_clocks_apart_mpich(scene):
    """As above. Hydra kills all ranks and their parents as soon as a rank ends."""
    _killed_with_clocks_apart(scene, "mpich")


class Parts:
    """A collector and an agent, each started by hand."""

    def __init__(self, scene):
        self.scene = scene
        self.environment = {"ROLLCALL_TOKEN": secrets.token_hex(16)}
        self.address = "127.0.0.1:0"

    def collector(self, verdict_file, *options):
        started = Command([self.scene.rollcall, "collector", "--listen", self.address,
                           "--color=never", "--json", verdict_file, *options], self.environment)
        started.says("ROLLCALL_COLLECTOR=")
        self.address = started.stdout().split("ROLLCALL_COLLECTOR=")[1].split()[0]
        require("ROLLCALL_TOKEN" not in started.stdout(), "the token was printed", started)
        return started

    def agent(self, before=(), directory=None):
        return Command([*before, self.scene.rollcall, "agent", "--dir", directory or self.scene.run_directory,
                        "--collector", self.address], self.environment)

    def job(self, mode, homes=()):
        """Starts the program with librollcall.so, without `rollcall run`.

        Rank n starts in the nth of `homes`, if any, and its run directory is `run` there. All ranks use the same path
        for it, as on nodes with separate file systems.
        """
        prefix = os.path.dirname(os.path.dirname(self.scene.rollcall))
        library = os.path.join(prefix, "lib", "rollcall", "librollcall.so")
        require(os.path.exists(library), "no " + library)
        directory = "/proc/self/cwd/run" if homes else self.scene.run_directory
        words = self.scene.job(mode, gate=True, extra=["-x", "LD_PRELOAD=" + library, "-x", "ROLLCALL_DIR=" + directory])
        if homes:
            start = 'shift "$OMPI_COMM_WORLD_RANK"; cd "$1"; shift "$((%d - OMPI_COMM_WORLD_RANK))"; exec "$@"'
            at = words.index(self.scene.program)
            words[at:at] = ["sh", "-c", start % len(homes), "sh", *homes]
        return Command(words)


def _wait_for_silence(path, job):
    """Waits until the agent has recorded that no rank makes progress, and writes nothing more."""
    since = [time.monotonic(), os.path.getsize(path)]

    def silent():
        size = os.path.getsize(path)
        if size != since[1]:
            since[:] = [time.monotonic(), size]
        return time.monotonic() - since[0] > SILENCE_S

    until(silent, "silence in the journal", job)


def _restarted(scene, hang_first):
    parts = Parts(scene)
    first = parts.collector(scene.path("first.json"))
    with first, parts.agent() as agent:
        until(lambda: os.path.isdir(os.path.join(scene.run_directory, "rings")), "a directory", agent)
        with parts.job("skip") as job:
            job.says("stepping")
            if hang_first:
                scene.open_gate()
                first.says("rollcall: hung")
                _wait_for_silence(os.path.join(scene.run_directory, "journal.jsonl"), job)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            with parts.collector(scene.verdict_file) as second:
                scene.open_gate()
                live.check_skip(scene.verdict(second), 4, second, agent, job)
                require("rollcall: hung" in second.stderr(), "nothing was printed", second)
                require(agent.running(), "the agent is gone", agent)
                require(job.running(), "the job ended", job)
                job.kill_everything()
                os.kill(second.pid, signal.SIGTERM)
                second.ends(live.FINDINGS)
                agent.ends(0, SOON_S)
    live.check_skip(scene.analyze(), 4)


def collector_restarted(scene):
    """The collector is killed by SIGKILL and a new one started: the agent sends everything again."""
    _restarted(scene, hang_first=False)


def collector_restarted_after_the_hang(scene):
    """As above, after the first collector has reported the hang: the second one receives everything again."""
    _restarted(scene, hang_first=True)


def agent_restarted(scene):
    """The agent is killed by SIGKILL and a new one started: it finds the existing rings.

    The collector's bundle contains the hang, although the job was killed afterwards.
    """
    parts = Parts(scene)
    packed = scene.path("job.zst")
    with parts.collector(scene.verdict_file, "--bundle", packed) as collector, parts.agent() as first:
        until(lambda: os.path.isdir(os.path.join(scene.run_directory, "rings")), "a directory", first)
        with parts.job("skip") as job:
            job.says("stepping")
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            with parts.agent() as second:
                scene.open_gate()
                live.check_skip(scene.verdict(collector), 4, collector, second, job)
                require(second.running() and job.running(), "agent or job ended", second, job)
                job.kill_everything()
                os.kill(collector.pid, signal.SIGTERM)
                collector.ends(live.FINDINGS)
                second.ends(0, SOON_S)
                live.check_skip(scene.analyze(of=packed), 4, collector)


def aggregator_killed(scene):
    """Four agents, of which two connect to the collector itself. One to which others connect is killed and replaced."""
    parts = Parts(scene)
    homes = [scene.path("node%d" % node) for node in range(4)]
    for home in homes:
        os.mkdir(home)
    with contextlib.ExitStack() as stack:
        collector = stack.enter_context(
            parts.collector(scene.verdict_file, "--direct-agents", "2", "--metrics", "127.0.0.1:0"))
        collector.says("metrics: ")
        address = collector.stderr().split("metrics: ")[1].split()[0]
        agents = [stack.enter_context(parts.agent(directory=home + "/run")) for home in homes]

        def counts(**expected):  # there are none until the collector has published its first state
            series = _scrape(address)
            return all(series.get("rollcall_" + name) == value for name, value in expected.items())

        until(lambda: counts(agents=4, relayed_agents=2), "two agents at an aggregator", collector, *agents)
        job = stack.enter_context(parts.job("skip", homes))
        job.says("stepping")
        listening = [agent for agent in agents if live.listens(agent.pid)]
        require(len(listening) == 1, "aggregators: %d" % len(listening), collector, *agents)
        node = agents.index(listening[0])
        os.kill(listening[0].pid, signal.SIGKILL)
        listening[0].wait()
        # The counts from before its death are those that are waited for below.
        until(lambda: counts(agents=3), "the collector misses it", collector, *agents)
        agents[node] = stack.enter_context(parts.agent(directory=homes[node] + "/run"))
        until(lambda: counts(agents=4, relayed_agents=2, processes=4), "two agents at another aggregator", collector,
              *agents)
        require(collector.stderr().count("rollcall:") == 1, "more than the metrics' address was said", collector)
        scene.open_gate()
        live.check_skip(scene.verdict(collector), 4, collector, job, *agents)
        require(job.running(), "the job ended", job)
        job.kill_everything()
        os.kill(collector.pid, signal.SIGTERM)
        collector.ends(live.FINDINGS)
        for agent in agents:
            agent.ends(0, SOON_S)


def _scrape(address):
    """Returns the metrics that the collector serves: values by series with labels."""
    with urllib.request.urlopen(address, timeout=SOON_S) as page:
        text = page.read().decode()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in text.splitlines() if line and not line.startswith("#")}


def _sum(series, start, *words):
    return sum(value for name, value in series.items() if name.startswith(start) and all(w in name for w in words))


def metrics(scene):
    """The metrics of a job that hangs; promtool, if it is installed, accepts them."""
    parts = Parts(scene)
    with parts.collector(scene.verdict_file, "--metrics", "127.0.0.1:0") as collector, parts.agent() as agent:
        collector.says("metrics: ")
        address = collector.stderr().split("metrics: ")[1].split()[0]
        until(lambda: os.path.isdir(os.path.join(scene.run_directory, "rings")), "a directory", agent)
        with parts.job("skip") as job:
            job.says("stepping")
            moving = until(lambda: _sum(_scrape(address), "rollcall_ranks{") == 4 and _scrape(address),
                           "four ranks", collector, agent, job)
            require(moving["rollcall_agents"] == 1, "agents: %s" % moving, collector)
            require(_sum(moving, "rollcall_findings") == 0, "findings: %s" % moving, collector)
            completed = _sum(moving, "rollcall_collectives_completed_total", 'size="4"')
            until(lambda: _sum(_scrape(address), "rollcall_collectives_completed_total", 'size="4"') > completed,
                  "progress", collector, agent, job)
            scene.open_gate()
            collector.says("rollcall: hung")
            hung = until(lambda: _sum(_scrape(address), "rollcall_findings") == 1 and _scrape(address),
                         "a finding", collector)
            require(_sum(hung, "rollcall_findings", "rank-conditional-collective") == 1, "%s" % hung, collector)
            require(_sum(hung, "rollcall_ranks", 'state="waiting"') == 4, "%s" % hung, collector)
            waited = [name for name in hung if name.startswith("rollcall_communicator_longest_wait_seconds")]
            require(any(hung[name] > 0 for name in waited), "%s" % hung, collector)
            require(not any("rank=" in name for name in hung), "series of single ranks: %s" % hung, collector)
            _check_format(address)


def _check_format(address):
    promtool = shutil.which("promtool")
    if promtool is None:
        return
    with urllib.request.urlopen(address, timeout=SOON_S) as page:
        done = subprocess.run([promtool, "check", "metrics"], input=page.read(), capture_output=True, check=False,
                              timeout=live.PATIENCE_S)
    require(done.returncode == 0, done.stdout.decode() + done.stderr.decode())


def metrics_in_prometheus(scene):
    """Debian's Prometheus scrapes the collector, and answers a query for the values."""
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        raise live.Unavailable("prometheus is not installed")
    parts = Parts(scene)
    with parts.collector(scene.verdict_file, "--metrics", "127.0.0.1:0") as collector:
        collector.says("metrics: ")
        target = collector.stderr().split("metrics: http://")[1].split("/")[0]
        settings = scene.path("prometheus.yml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s}\n"
                       "scrape_configs: [{job_name: rollcall, static_configs: [{targets: ['%s']}]}]\n" % target)
        port = live.free_port()
        with Command([prometheus, "--config.file=" + settings, "--storage.tsdb.path=" + scene.path("data"),
                      "--web.listen-address=127.0.0.1:%d" % port]) as server:
            server.says("Server is ready")
            query = "http://127.0.0.1:%d/api/v1/query?query=rollcall_agents" % port

            def result():
                with urllib.request.urlopen(query, timeout=SOON_S) as page:
                    return json.load(page)["data"]["result"]

            got = until(result, "a scraped series", server, collector)
            require(got[0]["value"][1] == "0", "rollcall_agents: %s" % got, server)


# Each node has its own /dev/shm.
for on_disk in (two_nodes, two_nodes_that_hang_at_once, two_nodes_with_clocks_apart,
                two_nodes_with_clocks_apart_mpich):
    on_disk.on_disk = True
CASES = {case.__name__: case for case in (
    two_nodes, two_nodes_that_hang_at_once, two_nodes_with_clocks_apart,
    two_nodes_with_clocks_apart_mpich, collector_restarted, collector_restarted_after_the_hang,
    agent_restarted, aggregator_killed, metrics, metrics_in_prometheus)}
