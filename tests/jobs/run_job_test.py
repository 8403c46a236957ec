#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one fault program, control or trap as a real MPI job under rollcall, and compares.

A fault is run once under `rollcall run --on-hang=report`: its live verdict must be exactly the one that the source's
header expects. Then every process is killed by SIGKILL, and `rollcall analyze` must report the same from the run
directory alone. Findings that only `rollcall check` makes are tested with it. With --paths all (or kill=yes in the
header) the fault is run once more under --on-hang=kill, and with --paths all a third time, in which only the ranks are
killed. A control or trap must give no finding, and the job's own exit code and output.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time

import expectations
import jobs
import verdicts

# rollcall's exit code when it ended the job itself (docs/live.md).
EXIT_JOB_ENDED = 86
FINDINGS = 1
NOTHING_FOUND = 0
# A job that hangs here never continues, so waiting longer has no use.
KILL_AFTER_S = "1"
# Time for the last ranks to arrive at the calls in which the verdict already expects them.
COMPLETE_WITHIN_S = 5
# Time for the agent to write a reported verdict to its journal.
JOURNALED_WITHIN_S = 5


class Failure(Exception):
    """The test failed; the text says how."""


def program_command(args, fault):
    if args.source.endswith(".py"):
        return ([args.python, args.source] + (["--fault"] if fault else [])
                + (["--ctypes", args.ctypes] if args.ctypes else []))
    return [args.program]


def bare_command(args, variant, fault):
    return (jobs.launcher(args.mpi, variant.ranks, variant.launcher_args)
            + program_command(args, fault) + variant.program_args)


def data_options(variant):
    return ["--data=" + variant.data] if variant.data else []


def with_preload(args, variant, fault, command):
    """Returns the command with the variant's library in LD_PRELOAD, where rollcall puts its own in front."""
    if not fault or not variant.preload:
        return command
    library = os.path.join(os.path.dirname(os.path.abspath(args.program)), variant.preload + ".so")
    if not os.path.exists(library):
        raise Failure("%s is not built" % library)
    return ["env", "LD_PRELOAD=" + library] + command


def rollcall_command(args, variant, fault, on_hang, directory):
    command = [args.rollcall, "run", "--on-hang=" + on_hang, "--kill-after", KILL_AFTER_S,
               "--json", os.path.join(directory, "verdict.json"),
               "--dir", os.path.join(directory, "run"), *data_options(variant)]
    if variant.stall_after:
        command += ["--stall-after", variant.stall_after]
    if variant.gpu:
        command = ["env", "ROLLCALL_GPU=" + variant.gpu] + command
    return with_preload(args, variant, fault, command + ["--"] + bare_command(args, variant, fault))


def check_command(args, variant, fault, directory):
    # A control has no --timeout, because the duration of a healthy job depends on the machine.
    options = [option for option in variant.check if fault or not option.startswith("--timeout=")]
    return with_preload(args, variant, fault, [
        args.rollcall, "check", "--json", os.path.join(directory, "verdict.json"),
        "--kill-after", KILL_AFTER_S, "--dir", os.path.join(directory, "run"), *options, *data_options(variant),
        "--", *bare_command(args, variant, fault)])


def fail(job, text):
    raise Failure("%s\n--- command: %s\n--- stdout:\n%s--- stderr:\n%s" % (
        text, " ".join(job.command), job.stdout(), job.stderr()))


def read_verdict(job, directory):
    path = os.path.join(directory, "verdict.json")
    try:
        with open(path, encoding="utf-8") as file:
            return verdicts.load(file.read())
    except OSError as error:
        fail(job, "no verdict was written: %s" % error)
    except verdicts.VerdictError as error:
        fail(job, "bad verdict: %s" % error)


def wait_for_hang_verdict(job, directory, expected, source):
    """Returns the running job's verdict as soon as its status is hung; None if the job ends before.

    A hang can be proven before the last rank waits. A verdict that is correct except for missing waiting
    ranks has COMPLETE_WITHIN_S to become complete.
    """
    deadline = time.monotonic() + jobs.JOB_TIMEOUT_S
    path = os.path.join(directory, "verdict.json")
    verdict = None
    while time.monotonic() < deadline:
        if not job.running():
            return None
        try:
            with open(path, encoding="utf-8") as file:
                latest = verdicts.load(file.read())
            if latest.get("status") == "hung":
                if verdict is None:
                    deadline = min(deadline, time.monotonic() + COMPLETE_WITHIN_S)
                verdict = latest
                if not verdicts.only_lacks_waiting(expected, verdict, source):
                    return verdict
        except (OSError, verdicts.VerdictError):
            pass  # not written yet, or incomplete
        time.sleep(0.02)
    if verdict:
        return verdict
    fail(job, "no verdict of a hang in %d s" % jobs.JOB_TIMEOUT_S)


def check_same(job, expected, verdict, source, what, analyzed=False):
    differences = verdicts.compare(expected, verdict, source, analyzed)
    if differences:
        fail(job, "%s differs:\n  %s\n--- verdict:\n%s" % (
            what, "\n  ".join(differences), json.dumps(verdict.get("findings"), indent=1)))


def code_for(verdict):
    """The exit code of `analyze` and `check` for a verdict: a finding that is a note does not count."""
    return FINDINGS if any(finding["weight"] == "fails" for finding in verdict["findings"]) else NOTHING_FOUND


def check_analyze(args, variant, expected, job, directory):
    command = [args.rollcall, "analyze", "--json", "-"]
    if variant.also:
        command += ["--also", variant.also]
    result = subprocess.run(
        command + [os.path.join(directory, "run")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=jobs.JOB_TIMEOUT_S, check=False)
    errors = result.stderr.decode("utf-8", "replace")
    try:
        verdict = verdicts.load(result.stdout.decode("utf-8"))
    except verdicts.VerdictError as error:
        fail(job, "analyze: %s\n%s" % (error, errors))
    code = code_for(verdict)
    if result.returncode != code:
        fail(job, "analyze ended with %d instead of %d:\n%s\n%s" % (
            result.returncode, code, errors, result.stdout.decode("utf-8", "replace")))
    check_same(job, expected, verdict, args.source, "the post-mortem verdict",
               analyzed=True)


def check_end(variant, job, code):
    """Checks how a faulty job that does not hang ended."""
    if code is None:
        fail(job, "still running after %d s" % jobs.JOB_TIMEOUT_S)
    outcome = "finished" if code == 0 else "failed"
    if variant.outcome not in (outcome, "any") or code == EXIT_JOB_ENDED:
        fail(job, "ended with %d, but the header says %s" % (code, variant.outcome))


def wait_until_journaled(directory):
    """Waits until the agent has recorded for all ranks that they made no progress when the verdict was reported.

    The agent does so while the verdict is printed. Without it analyze cannot determine how long a rank waited.
    """
    deadline = time.monotonic() + JOURNALED_WITHIN_S
    run = os.path.join(directory, "run")
    while time.monotonic() < deadline:
        with open(os.path.join(run, "journal.jsonl"), encoding="utf-8") as journal:
            verdict_lines = journal.read().count('"event":"verdict"')
        if verdict_lines >= len(os.listdir(os.path.join(run, "rings"))):
            return
        time.sleep(0.02)


def test_fault(args, variant, directory):
    """Checks the live verdict, then the same verdict from the files left after SIGKILL to all processes."""
    with jobs.Job(rollcall_command(args, variant, True, "report", directory)) as job:
        verdict = None
        if variant.outcome in ("hung", "any"):
            verdict = wait_for_hang_verdict(job, directory, variant.findings, args.source)
            if verdict:
                wait_until_journaled(directory)
                job.kill_everything()
        if verdict is None:
            check_end(variant, job, job.wait())
            verdict = read_verdict(job, directory)
        live = [] if variant.also else variant.findings
        check_same(job, live, verdict, args.source, "the live verdict")
        check_analyze(args, variant, variant.findings, job, directory)


def test_check(args, variant, directory, fault=True):
    """Checks the verdict of `rollcall check` about the job, and its exit code."""
    with jobs.Job(check_command(args, variant, fault, directory)) as job:
        code = job.wait()
        verdict = read_verdict(job, directory)
        check_same(job, variant.findings if fault else [], verdict, args.source, "check's verdict")
        if code != code_for(verdict):
            fail(job, "ended with %s, with these findings: %s" % (
                code, json.dumps(verdict["findings"], indent=1)))


def test_kill(args, variant, directory):
    """Checks that rollcall ends the hanging job and returns EXIT_JOB_ENDED."""
    with jobs.Job(rollcall_command(args, variant, True, "kill", directory)) as job:
        code = job.wait()
        if code != EXIT_JOB_ENDED:
            fail(job, "ended with %s instead of %d" % (code, EXIT_JOB_ENDED))
        verdict = read_verdict(job, directory)
        # The last ranks may have been ended before they reached the call in which they would have waited.
        if not verdicts.only_lacks_waiting(variant.findings, verdict, args.source):
            check_same(job, variant.findings, verdict, args.source, "the live verdict")


def test_ranks_killed(args, variant, directory):
    """Kills the hanging ranks but not rollcall: the first verdict must remain."""
    with jobs.Job(rollcall_command(args, variant, True, "report", directory)) as job:
        if not wait_for_hang_verdict(job, directory, variant.findings, args.source):
            fail(job, "the job ended where a hang was expected")
        job.kill_ranks()
        if job.wait() is None:
            fail(job, "still running after its ranks were killed")
        verdict = read_verdict(job, directory)
        check_same(job, variant.findings, verdict, args.source, "the last verdict")
        check_analyze(args, variant, variant.findings, job, directory)


def test_control(args, variant, directory):
    with jobs.Job(bare_command(args, variant, False)) as bare:
        if bare.wait() != variant.exit_code:
            fail(bare, "without rollcall: ended with %s instead of %d" % (
                bare.wait(0), variant.exit_code))
        with jobs.Job(rollcall_command(args, variant, False, "kill", directory)) as job:
            code = job.wait()
            if code != variant.exit_code:
                fail(job, "ended with %s instead of %d" % (code, variant.exit_code))
            # The launcher interleaves the lines of the ranks in any order.
            if sorted(job.stdout().splitlines()) != sorted(bare.stdout().splitlines()):
                fail(job, "output differs; without rollcall it is:\n" + bare.stdout())
            check_same(job, [], read_verdict(job, directory), args.source, "the verdict")
            if variant.also:
                check_analyze(args, variant, [], job, directory)


def test_check_control(args, variant, directory):
    test_check(args, variant, directory, fault=False)


def test_bare(args, variant, _directory):
    """Checks that the fault without rollcall hangs, fails or passes as its header specifies."""
    with jobs.Job(with_preload(args, variant, True, bare_command(args, variant, True))) as job:
        code = job.wait(args.hang_after if variant.outcome == "hung" else jobs.JOB_TIMEOUT_S)
        if variant.outcome == "hung":
            if code is not None:
                fail(job, "ended with %d, but the header says hung" % code)
        else:
            check_end(variant, job, code)


def tests_of(args, variant):
    if args.bare:
        return [test_bare] if not args.control else []
    if args.control or not variant.findings:
        return [test_control if variant.check is None else test_check_control] * min(
            args.repeat, variant.repeat)
    if variant.check is not None:
        return [test_check]
    chosen = [test_fault]
    # A finding that is not certain does not end a job.
    decided = any(finding["certainty"] != ["inconclusive"] for finding in variant.findings)
    if variant.outcome == "hung" and decided and (variant.kill or args.paths == "all"):
        chosen.append(test_kill)
    if variant.outcome == "hung" and args.paths == "all" and not variant.survives:
        chosen.append(test_ranks_killed)
    return chosen


def main():
    os.environ.setdefault("UCX_LOG_LEVEL", "fatal")  # UCX, which MPICH uses, writes warnings with a time stamp
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", help="the rollcall command", default="rollcall")
    parser.add_argument("--mpi", choices=expectations.MPIS, required=True)
    parser.add_argument("--program", help="the executable; not for Python sources")
    parser.add_argument("--source", required=True, help="the program's source, with its header")
    parser.add_argument("--python", default="/usr/bin/python3", help="interpreter of Python sources")
    parser.add_argument("--ctypes", metavar="LIBRARY", help="MPI library to drive without mpi4py")
    parser.add_argument("--variant", help="only this variant")
    parser.add_argument("--control", action="store_true", help="the control or a true negative")
    parser.add_argument("--repeat", type=int, default=1, help="how often a control is run")
    parser.add_argument("--paths", choices=("short", "all"), default="short")
    parser.add_argument("--bare", action="store_true", help="check the header without rollcall")
    parser.add_argument("--hang-after", type=float, default=4, help="seconds, for --bare")
    args = parser.parse_args()
    args.source = os.path.abspath(args.source)
    if args.program and not os.path.exists(args.program):
        sys.exit("%s is not built" % args.program)
    failures = 0
    variants = expectations.read(args.source, args.mpi)
    if args.control and args.paths == "short":
        variants = variants[:1]  # they differ only in the effect of the fault
    for variant in variants:
        if args.variant not in (None, variant.name):
            continue
        for test in tests_of(args, variant):
            directory = jobs.make_directory()
            try:
                started = time.monotonic()
                test(args, variant, directory)
                print("ok   %s %s (%.1f s)" % (test.__name__, variant.name,
                                               time.monotonic() - started), flush=True)
            except Failure as failure:
                failures += 1
                print("FAIL %s %s: %s" % (test.__name__, variant.name, failure), flush=True)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
