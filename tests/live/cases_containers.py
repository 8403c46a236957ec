# SPDX-License-Identifier: Apache-2.0
"""Tests of ranks in their own pid namespaces, as in containers: each is process 1 of its namespace."""

import os
import signal

import live
from cases_nodes import Parts
from cases_shm import WITHOUT_SM  # Open MPI's module names its files by pid, and crashes even without rollcall
from live import Command, require, until

RANKS = 3


def _container():
    return live.need_unshare("-p", "-f", "--kill-child", "--mount-proc")


def containers(scene):
    """The verdict is the same as without containers: threads and ends are observed from outside."""
    job = scene.job("skip", ranks=RANKS, extra=WITHOUT_SM + _container())
    with Command(scene.run() + job) as job:
        job.says("rollcall: ")
        require("rollcall: hung, proven" in job.stderr(), "the first verdict is another one", job)
        live.check_skip(scene.verdict(job), RANKS, job)
        analyzed = scene.analyze()
        require(analyzed["status"] == "hung", "of the live job: " + analyzed["status"], job)
        live.check_skip(analyzed, RANKS, job)


def ended_in_a_container(scene):
    """A rank that ends too early in a container is the culprit."""
    job = scene.job("exit5", ranks=RANKS, extra=WITHOUT_SM + _container())
    with Command(scene.run(on_hang="kill") + job) as job:
        require(job.wait(live.PATIENCE_S) is not None, "still running", job)
        findings = live.read_verdict(scene.verdict_file)["findings"]
        require([(one["kind"], one["culprits"]) for one in findings] == [("rank-died", [1])], str(findings), job)
        require("exited with 5" in findings[0]["title"], findings[0]["title"], job)


def agent_in_another_container(scene):
    """An agent that cannot see its ranks: a line reports that, no rank counts as ended, and the hang is found."""
    parts = Parts(scene)
    with parts.collector(scene.verdict_file) as collector, parts.agent(_container()) as agent:
        until(lambda: os.path.isdir(os.path.join(scene.run_directory, "rings")), "a directory", agent)
        with parts.job("skip") as job:
            collector.says("a pid namespace that this agent cannot see")
            scene.open_gate()
            collector.says("rollcall: ")
            live.check_skip(scene.verdict(collector), 4, collector, agent, job)
            require(collector.stderr().count("a pid namespace that this agent cannot see") == 1, "said more than once", collector)
        os.kill(collector.pid, signal.SIGTERM)
        collector.ends(live.FINDINGS)


CASES = {case.__name__: case for case in (containers, ended_in_a_container, agent_in_another_container)}
