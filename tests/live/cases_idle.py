# SPDX-License-Identifier: Apache-2.0
"""Tests of a rank that waits for the world outside the job: it is idle, and not hung; docs/verdicts/rank-stalled.md."""

import json
import os
import re
import signal
import socket

import live
from live import Command, require, until

C, PYTHON, ENGINE = "serving_job.c", "serving_job.py", "serving_engine.py"
STALL_AFTER = ("--stall-after", "2")


def _words(scene, program, mode, ranks=3):
    if program == ENGINE:
        return live.jobs.launcher("torch", ranks) + ["/usr/bin/python3", os.path.join(live.HERE, ENGINE)]
    words = live.jobs.launcher("openmpi", ranks)
    if program == PYTHON:
        return words + ["/usr/bin/python3", os.path.join(live.HERE, PYTHON), mode]
    return words + [os.path.join(os.path.dirname(scene.program), "serving_job"), mode]


def _line_of(program, marker):
    with open(os.path.join(live.HERE, program), encoding="utf-8") as source:
        return [n for n, line in enumerate(source, 1) if line.rstrip().endswith("@" + marker)][0]


def _connect(job):
    port = until(lambda: re.search(r"^port (\d+)$", job.stdout(), re.MULTILINE), "a port", job).group(1)
    return socket.create_connection(("127.0.0.1", int(port)), timeout=live.PATIENCE_S)


def _request(job, mode, letter, client=None):
    """Sends one request, on a connection of its own unless `client` is one."""
    text = "GET /%s HTTP/1.0\r\n\r\n" % letter if mode == "http" else letter
    with client or _connect(job) as connection:
        connection.sendall(text.encode())
        while mode == "http" and connection.recv(4096):
            pass


def _require_idle(verdict, program, mode, *started):
    require(len(verdict["findings"]) == 1, "not one finding: %s" % verdict, *started)
    finding = verdict["findings"][0]
    said = (finding["kind"], finding["certainty"], finding["hangs"], finding.get("idle"), finding["weight"])
    require(said == ("rank-stalled", "suspected", False, True, "warning"), json.dumps(finding, indent=1), *started)
    place = r"idle\?: rank 0 waits for a.* at %s:%d;" % (re.escape(program), _line_of(program, mode))
    require(re.match(place, finding["title"]), "%s is not in '%s'" % (place, finding["title"]), *started)


def _require_stalled(verdict, *started):
    require(verdict["status"] in ("hung", "stopped"), "status is " + verdict["status"], *started)
    finding = verdict["findings"][0]
    require(finding["kind"] == "rank-stalled" and "idle" not in finding and 0 in finding["culprits"],
            json.dumps(verdict["findings"], indent=1), *started)


def _serves(scene, program, mode, connected=False):
    """It is said once, ends nothing, and is forgotten when a request has come."""
    with Command(scene.run(*STALL_AFTER, on_hang="kill") + _words(scene, program, mode)) as job:
        client = _connect(job) if connected else None
        _require_idle(_becomes_idle(scene, job), program, mode, job)
        _require_idle(scene.analyze(options=STALL_AFTER), program, mode, job)
        _request(job, mode, "q", client)
        job.ends(0)
        require(job.stderr().count("idle?: ") == 1 and "withdrawn" not in job.stderr(), "what was said", job)
        require(live.read_verdict(scene.verdict_file)["findings"] == [], "a finding is left", job)
        require("traces:" not in job.stderr(), "traces of a clean job", job)


def idle_in_accept(scene):
    """In accept(): a client that has not come."""
    _serves(scene, C, "accept")


def idle_in_recv(scene):
    """In recv(): a client outside the job that says nothing."""
    _serves(scene, C, "recv", connected=True)


def idle_in_poll(scene):
    """In poll(), on the listening socket and a client's."""
    _serves(scene, C, "poll", connected=True)


def idle_in_select(scene):
    """In select(), on the listening socket alone."""
    _serves(scene, C, "select")


def idle_in_epoll(scene):
    """In epoll_wait(), on the listening socket and a client's."""
    _serves(scene, C, "epoll", connected=True)


def idle_in_python(scene):
    """A server of mpi4py in socket.accept()."""
    _serves(scene, PYTHON, "accept")


def idle_in_http_server(scene):
    """http.server waits in poll()."""
    _serves(scene, PYTHON, "http")


def idle_in_asyncio(scene):
    """asyncio waits in epoll_wait(), also at a pair of sockets of its own."""
    _serves(scene, PYTHON, "asyncio", connected=True)


def _waits_in(scene, number):
    findings = live.read_verdict(scene.verdict_file)["findings"]
    return bool(findings) and findings[0]["sequence"] == number


def idle_in_serving_engine(scene):
    """Rank 0 of a serving engine on PyTorch waits for requests, and its workers wait in a broadcast."""
    _serves(scene, ENGINE, "accept")


def _engine_hangs(scene, letter):
    """One request that works, and then one after which the engine hangs. Returns the finding."""
    with Command(scene.run(*STALL_AFTER, on_hang="kill") + _words(scene, ENGINE, "accept")) as job:
        _request(job, "accept", "w")
        _request(job, "accept", letter)
        job.ends(live.ENDED_CODE)
        verdict = live.read_verdict(scene.verdict_file)
        require("idle?" not in job.stderr() and verdict["status"] == "hung", "status is " + verdict["status"], job)
        require(len(verdict["findings"]) == 1, "not one finding", job)
        return verdict["findings"][0]


def idle_no_more_with_a_request(scene):
    """Rank 0 of the engine has taken a request, and does not come."""
    finding = _engine_hangs(scene, "b")
    said = (finding["kind"], finding["culprits"])
    require(said == ("rank-stalled", [0]), json.dumps(finding, indent=1))


def idle_no_excuse_for_a_worker(scene):
    """A worker of the engine waits for the next request, and the others compute."""
    finding = _engine_hangs(scene, "a")
    require(finding["culprits"] == [2] and finding["certainty"] == "proven", json.dumps(finding, indent=1))


def idle_is_said_once(scene):
    """The server becomes idle again after a request: not a word, and the JSON has it again. After its end, too."""
    with Command(scene.run(*STALL_AFTER) + _words(scene, C, "accept")) as job:
        number = _becomes_idle(scene, job)["findings"][0]["sequence"]
        for step in (number + 1, number + 2):
            _request(job, "accept", "w")
            until(lambda: _waits_in(scene, step), "the finding again, in the next broadcast", job)
        _require_idle(live.read_verdict(scene.verdict_file), C, "accept", job)
        require(job.stderr().count("idle?: ") == 1, "not said once", job)
        job.kill_everything()
        _require_idle(scene.analyze(), C, "accept", job)


def _becomes_idle(scene, job):
    """Waits until it has been said, and returns the verdict."""
    job.says("idle?: ")
    return scene.verdict(job)  # the text comes first


def _await_line(scene, job, text):
    """Waits until the journal has a line with the text."""
    journal = os.path.join(scene.run_directory, "journal.jsonl")

    def has_line():
        with open(journal, encoding="utf-8") as lines:
            return any(text in line for line in lines)

    until(lambda: os.path.exists(journal) and has_line(), text + " in the journal", job)


def idle_until_just_now(scene):
    """A request comes before the rank counts as stalled, and is under way then: the rank has not hung for so long."""
    with Command(scene.run("--stall-after", "5", on_hang="kill") + _words(scene, C, "accept")) as job:
        _await_line(scene, job, '"for":"client"')
        _request(job, "accept", "b")
        _request(job, "accept", "q")
        job.ends(0)
        require("hung" not in job.stderr(), "a server that works was accused", job)


def idle_before_it_was_stopped(scene):
    """The job is stopped soon after a request: that the rank was looked at before is no reason to accuse it."""
    with Command(scene.run("--stall-after", "4") + _words(scene, C, "accept")) as job:
        _becomes_idle(scene, job)
        _request(job, "accept", "w")
        job.says("step 1")
        os.kill(job.pid, signal.SIGINT)
        require(job.wait() is not None, "still running", job)
        # On a busy machine it may be idle again.
        findings = live.read_verdict(scene.verdict_file)["findings"] + scene.analyze()["findings"]
        require(all(finding.get("idle") for finding in findings), json.dumps(findings, indent=1), job)


def idle_passes_check(scene):
    """`check` passes a job that was idle for longer than --stall-after."""
    with Command(scene.check(*STALL_AFTER) + _words(scene, C, "accept")) as job:
        _await_line(scene, job, '"event":"stack"')  # of a rank that would be stalled
        _request(job, "accept", "q")
        job.ends(0)
        job.says("check passed")


def idle_for_too_long(scene):
    """--idle-after: from then on it is stalled, and the job is ended."""
    with Command(scene.run(*STALL_AFTER, "--idle-after", "4", on_hang="kill") + _words(scene, C, "accept")) as job:
        _becomes_idle(scene, job)
        job.ends(live.ENDED_CODE)
        _require_stalled(live.read_verdict(scene.verdict_file), job)
        _require_stalled(scene.analyze(), job)


def _hangs(scene, mode):
    with Command(scene.run(*STALL_AFTER, on_hang="kill") + _words(scene, C, mode)) as job:
        job.ends(live.ENDED_CODE)
        verdict = live.read_verdict(scene.verdict_file)
        require("idle?" not in job.stderr() and verdict["status"] == "hung", "status is " + verdict["status"], job)
        return verdict


def idle_for_a_rank_is_stalled(scene):
    """In recv(), on a connection to another rank."""
    _require_stalled(_hangs(scene, "recv-rank"))


def idle_while_a_rank_connects_is_stalled(scene):
    """In accept(), while another rank is in connect()."""
    _require_stalled(_hangs(scene, "connect-rank"))


def idle_explains_no_divergence(scene):
    """In accept(), while the other ranks wait in different calls."""
    _hangs(scene, "diverged")


CASES = {case.__name__: case for case in (
    idle_in_accept, idle_in_recv, idle_in_poll, idle_in_select, idle_in_epoll, idle_in_python, idle_in_http_server,
    idle_in_asyncio, idle_in_serving_engine, idle_no_more_with_a_request, idle_no_excuse_for_a_worker, idle_is_said_once, idle_until_just_now, idle_before_it_was_stopped, idle_passes_check,
    idle_for_too_long, idle_for_a_rank_is_stalled, idle_while_a_rank_connects_is_stalled,
    idle_explains_no_divergence)}
