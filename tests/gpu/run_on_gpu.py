#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests verdicts on the real NCCL and measures the overhead of rollcall; scripts/gpu runs it after the build."""

import argparse
import glob
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JOB_TEST = os.path.join(ROOT, "tests", "jobs", "run_job_test.py")
TIMEOUT_S = 180
ENDED_BY_ROLLCALL = 86  # docs/live.md


def launched(what, ranks=2):
    return [os.environ["ROLLCALL_FORK_LAUNCHER"], "-n", str(ranks)] + what


def execute(command):
    """Returns exit code, standard output and standard error; the code is None after TIMEOUT_S."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return None, str(late.stdout), str(late.stderr)
    finally:
        for path in glob.glob("/dev/shm/rollcall-gpu-*"):
            os.unlink(path)


def verdict_rows(args):
    for name in args.names:
        source = os.path.join(ROOT, "tests", "faults", "nccl", name + ".c")
        row = [name]
        for kind, extra in (("fault", []), ("control", ["--control"])):
            program = os.path.join(args.programs, "%s.%s" % (name, kind))
            if not os.path.exists(program):
                row.append("-")
                continue
            code, out, err = execute([sys.executable, JOB_TEST, "--rollcall", args.rollcall, "--mpi", "fork",
                                      "--source", source, "--program", program] + extra)
            row.append("as expected" if code == 0 else "DIFFERS")
            if code != 0:
                print("--- %s, %s:\n%s%s" % (name, kind, out, err), file=sys.stderr)
        yield row


def has_torch():
    """Whether PyTorch is installed, with NCCL."""
    if importlib.util.find_spec("torch") is None:
        return False
    return execute([sys.executable, "-c", "import sys, torch.distributed as d; sys.exit(not d.is_nccl_available())"])[0] == 0


def torch_rows(args):
    if not has_torch():
        print("PyTorch with NCCL is not installed: its NCCL backend was not run")
        return
    job = os.path.join(HERE, "torch_job.py")
    row = ["PyTorch"]
    for mode, code_wanted in (("fault", ENDED_BY_ROLLCALL), ("control", 0)):
        scratch = tempfile.mkdtemp(prefix="rollcall-test-", dir="/dev/shm")
        verdict = os.path.join(scratch, "verdict.json")
        code, out, err = execute([args.rollcall, "run", "--on-hang=kill", "--kill-after", "1", "--json", verdict, "--dir",
                                  os.path.join(scratch, "run"), "--"] + launched([sys.executable, job, mode]))
        found = []
        if os.path.exists(verdict):
            with open(verdict, encoding="utf-8") as file:
                found = [(f["culprits"], f["operation"]) for f in json.load(file)["findings"]]
        shutil.rmtree(scratch, ignore_errors=True)
        good = code == code_wanted and found == ([([1], "all_reduce")] if mode == "fault" else [])
        row.append("as expected" if good else "DIFFERS")
        if not good:
            print("--- PyTorch, %s: code %s, found %s\n%s%s" % (mode, code, found, out, err), file=sys.stderr)
    yield row


def measure(args, command, columns):
    """Returns the medians of each column, without and with rollcall, over alternating runs; None if a run failed."""
    bare, traced = [], []
    for _ in range(2 if args.quick else 5):
        for runs, prefix in ((bare, []), (traced, [args.rollcall, "run", "--"])):
            code, out, err = execute(prefix + launched(command))
            lines = [line.split() for line in out.splitlines()]
            rows = [[float(word) for word in line] for line in lines if len(line) == columns]
            if code != 0 or not rows:
                print("--- %s: code %s\n%s%s" % (" ".join(command), code, out, err), file=sys.stderr)
                return None
            runs.extend(rows)
    return [[statistics.median(row[i] for row in runs) for i in range(columns)] for runs in (bare, traced)]


def cost_rows(args):
    what = [(["all-reduce of 8 bytes and wait, ns", "ncclAllReduce alone, ns"],
             [os.path.join(args.programs, "latency"), "20"])]
    if has_torch():
        what.append((["step of PyTorch DDP, ms"], [sys.executable, os.path.join(HERE, "torch_job.py"), "steps"]))
    for names, command in what:
        figures = measure(args, command, len(names))
        for i, name in enumerate(names):
            if figures is None:
                yield [name, "failed", "", ""]
                continue
            without, with_it = figures[0][i], figures[1][i]
            yield [name, "%.6g" % without, "%.6g" % with_it, "%+.2f %%" % ((with_it / without - 1) * 100)]


def table(header, rows):
    """Prints Markdown, each row as soon as it is available; returns the rows."""
    print("| %s |\n|%s" % (" | ".join(header), "---|" * len(header)))
    kept = []
    for row in rows:
        print("| %s |" % " | ".join(row), flush=True)
        kept.append(row)
    print()
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--programs", required=True, help="where scripts/gpu built them")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*", help="of fault programs")
    args = parser.parse_args()
    rows = table(["program", "fault", "control"], verdict_rows(args))
    rows += table(["framework", "fault", "control"], torch_rows(args))
    costs = table(["", "without", "with rollcall", "added"], cost_rows(args))
    bad = any("DIFFERS" in row for row in rows) or any("failed" in row for row in costs)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
