# SPDX-License-Identifier: Apache-2.0
"""Tests of --log: what the job writes to files enters the verdict, and changes nothing else."""

import os
import subprocess

import live
from live import Command, require, until

PROGRAM = os.path.join(live.HERE, "printing_job.py")
RANKS = 3
DONE = 0


def _job(mode, *extra):
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], capture_output=True, check=False).returncode != 0:
        raise live.Unavailable("mpi4py is not installed")
    return live.jobs.launcher("openmpi", RANKS, extra) + ["/usr/bin/python3", PROGRAM, mode]


def _into(path, command):
    """The command with its output in a file, as a batch script has it."""
    return ["sh", "-c", 'exec "$@" > "$0" 2>&1', path, *command]


def _line(marker):
    with open(PROGRAM, encoding="utf-8") as source:
        numbers = [n for n, line in enumerate(source, 1) if line.rstrip().endswith("# @" + marker)]
    require(len(numbers) == 1, "marker %s stands in %d lines" % (marker, len(numbers)))
    return numbers[0]


def _check(scene, code, logs, command, *options):
    """Runs a job under `rollcall check` and returns its verdict and what it printed."""
    words = [scene.rollcall, "check", "--output", "json=" + scene.verdict_file, *options]
    for log in logs:
        words += ["--log", log]
    with Command(words + ["--"] + command) as job:
        job.ends(code)
        return live.read_verdict(scene.verdict_file), job.stderr()


def _names_the_exception(verdict, log):
    finding = verdict["findings"][0]
    facts = live.verdicts.facts(finding, PROGRAM)
    got = (finding["kind"], finding["culprits"], facts["lines"]["culprit"])
    require(got == ("uncaught-exception", [1], {_line("raised")}), "found %s" % (got,))
    require("ValueError: bad shard 1" in finding["title"], finding["title"])
    quotes = [quote for quote in finding["log"] if quote["text"].endswith("ValueError: bad shard 1")]
    require(len(quotes) == 1 and quotes[0]["file"] == log, str(finding["log"]))
    with open(log, encoding="utf-8") as file:
        line = file.read().split("\n")[quotes[0]["line"] - 1]
    require(line == quotes[0]["text"], "line %d is %s" % (quotes[0]["line"], line))


def log_has_the_exception(scene):
    """A rank prints a traceback and leaves: the verdict names the line of the raise."""
    log = scene.path("out")
    with open(log, "w", encoding="utf-8") as file:
        file.write("an earlier line\n")
    append = ["sh", "-c", 'exec "$@" >> "$0" 2>&1', log]
    for mode in ("exit", "abort"):
        verdict, _ = _check(scene, live.FINDINGS, [log], append + _job(mode))
        _names_the_exception(verdict, log)
        os.rename(log, scene.path(mode))
    verdict, _ = _check(scene, live.FINDINGS, [], _into(log, _job("exit")))
    require(verdict["findings"][0]["kind"] == "rank-died", "without --log: %s" % verdict["findings"])


def log_is_a_directory(scene):
    """The launcher writes a file for each rank; those of an earlier run do not count."""
    logs = scene.path("logs")
    words = ("--output-filename", logs)
    _, said = _check(scene, live.FINDINGS, [], _job("exit", *words))
    verdict, _ = _check(scene, DONE, [logs], _job("handle", "--output-filename", scene.path("others")))
    require(verdict["findings"] == [], "an earlier run is judged: %s" % verdict["findings"])
    verdict, _ = _check(scene, live.FINDINGS, [logs], _job("exit", *words))
    _names_the_exception(verdict, os.path.join(logs, "1", "rank.1", "stderr"))
    require("ValueError" not in said.split("rollcall:", 1)[1], "the default reads logs:\n" + said)


def log_of_a_healthy_job(scene):
    """An exception that was handled is no finding. A file that never appears is said once, at the end."""
    log, missing = scene.path("out"), scene.path("missing")
    verdict, said = _check(scene, DONE, [missing, log], _into(log, _job("handle")))
    require(verdict["findings"] == [], "found %s" % verdict["findings"])
    require(said.count(missing) == 1 and "--log %s: is not on this machine" % missing in said, said)
    with open(log, encoding="utf-8") as file:
        text = file.read()
    require("ValueError" in text and text.count("done") == RANKS, text)


def log_while_the_job_hangs(scene):
    """The verdict on a job that still runs has the exception, too, and the job is left alone."""
    log = scene.path("out")
    job = _job("exit", *live.jobs.keep_survivors("openmpi"))
    words = [scene.rollcall, "run", "--json", scene.verdict_file, "--log", log, "--"]
    with Command(words + _into(log, job)) as run:
        run.says("raised ValueError: bad shard 1")
        until(lambda: live.read_verdict(scene.verdict_file), "a verdict", run)
        require(run.running(), "the job was ended", run)
        _names_the_exception(live.read_verdict(scene.verdict_file), log)


def log_at_the_time_limit(scene):
    """When --timeout ends the job, a rank that left is named with its exception, and one that handled it is not."""
    log = scene.path("out")
    survivors = live.jobs.keep_survivors("openmpi")
    verdict, _ = _check(scene, live.FINDINGS, [log], _into(log, _job("leave", *survivors)), "--timeout", "4")
    _names_the_exception(verdict, log)
    verdict, _ = _check(scene, live.FINDINGS, [log], _into(log, _job("stay", *survivors)), "--timeout", "4")
    kinds = [finding["kind"] for finding in verdict["findings"]]
    require(kinds == ["timed-out"], "found %s" % kinds)


def log_of_a_job_that_records_nothing(scene):
    """Without records the log alone gives the verdict, of `check` and of `run`; a healthy job has none."""
    log = scene.path("out")
    unrecorded = ["env", "ROLLCALL_DISABLE=1"]
    failing = unrecorded + _into(log, _job("exit"))
    verdict, _ = _check(scene, live.FINDINGS, [log], failing)
    _names_the_exception(verdict, log)
    with Command([scene.rollcall, "run", "--json", scene.path("run"), "--log", log, "--"] + failing) as run:
        run.ends(3)
        _names_the_exception(live.read_verdict(scene.path("run")), log)
    healthy = unrecorded + _into(scene.path("well"), _job("handle"))
    verdict, _ = _check(scene, DONE, [scene.path("well")], healthy, "--allow-no-ranks")
    require(verdict["findings"] == [], "found %s" % verdict["findings"])


CASES = {case.__name__: case for case in (
    log_has_the_exception, log_is_a_directory, log_of_a_healthy_job, log_while_the_job_hangs,
    log_at_the_time_limit, log_of_a_job_that_records_nothing)}
