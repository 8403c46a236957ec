#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program without rollcall, and compares the verdict on what it and its launcher printed.

  run_log_test.py --rollcall PATH --launcher NAME --ranks N --expect KIND:RANKS [--expect …] COMMAND...

Each layout of the launcher's output is tried: one file, one file whose lines have the rank, a file a rank. KIND is that
of the first finding, or none; RANKS are the culprits, with commas between them. Any of several --expect is right.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

import jobs
import slurm_cluster
import torch_ranks

HERE = os.path.dirname(os.path.abspath(__file__))
# What the output of each launcher is like: by its arguments, where FILES is a directory for a file a rank.
OPENMPI = ["mpirun.openmpi", "--oversubscribe", "-n"]
MPICH = ["mpirun.mpich", "-n"]
SRUN = ["srun", "--mpi=pmi2", "--kill-on-bad-exit", "--ntasks", "RANKS", "--nodes", "NODES"]
LAYOUTS = {
    "openmpi": {"one file": [*OPENMPI, "RANKS"],
                "with ranks": [*OPENMPI, "RANKS", "--tag-output"],
                "files": [*OPENMPI, "RANKS", "--output-filename", "FILES"]},
    "mpich": {"one file": [*MPICH, "RANKS"],
              "with ranks": [*MPICH, "RANKS", "-l"],
              "files": [*MPICH, "RANKS", "-outfile-pattern", "FILES/out.%r.log", "-errfile-pattern",
                        "FILES/err.%r.log"]},
    "slurm": {"one file": SRUN,
              "with ranks": [*SRUN, "--label"],
              "files": [*SRUN, "--output", "FILES/out.%t.log"]},
    # The output of the simulated NCCL has the process in each line.
    "fork": {"one file": [os.environ.get("ROLLCALL_FORK_LAUNCHER", ""), "-n", "RANKS"]},
    "torch": {"one file": [os.path.join(HERE, "torch_ranks.py"), "RANKS"]},
    # With Python 3.11, torchrun of PyTorch 1.13 fails unless it redirects and copies one of the two streams.
    "torchrun": {"with ranks": ["torchrun", "--master_port", "PORT", "--redirects", "2", "--tee", "2", "--log_dir", "FILES",
                                "--nproc_per_node", "RANKS"]},
}
# Long after the last line of a job that hangs.
QUIET_S = 8


def wait_for(job, log, hangs):
    """Waits until the job ends, or, if it hangs, until it prints no more."""
    if not hangs:
        if job.wait() is None:
            sys.exit("the job did not end")
        return
    deadline = time.monotonic() + jobs.JOB_TIMEOUT_S
    size, since = -1, time.monotonic()
    while job.running():
        now = time.monotonic()
        if now > deadline:
            sys.exit("the job does not stop to print")
        grown = os.path.getsize(log) if os.path.exists(log) else 0
        if grown != size:
            size, since = grown, now
        elif size > 0 and now - since > QUIET_S:
            return
        time.sleep(0.1)


def findings_in(rollcall, log):
    analyzed = subprocess.run([rollcall, "analyze", "--output", "json", log], capture_output=True, text=True,
                              timeout=60, check=False)
    if not analyzed.stdout:  # no line says anything
        return [], analyzed.stderr
    return json.loads(analyzed.stdout)["findings"], analyzed.stdout


def check(options, log, layout):
    """Returns what was said of the file, or of the directory, and exits if it is not expected."""
    findings, text = findings_in(options.rollcall, log)
    got = "none:"
    if findings:
        got = "%s:%s" % (findings[0]["kind"], ",".join(map(str, findings[0]["culprits"])))
    expected = options.files if layout == "files" and options.files else options.expect
    if got not in expected:
        printed = subprocess.run(["grep", "-r", "", log], capture_output=True, text=True, errors="replace", check=False)
        sys.exit("%s: expected %s, got %s\n%s\n%s" % (layout, " or ".join(expected), got, text, printed.stdout))
    for finding in findings:
        for quote in finding["log"]:
            with open(quote["file"], encoding="utf-8", errors="replace") as quoted:
                line = quoted.read().split("\n")[quote["line"] - 1]
            if quote["text"].rstrip("…").split()[-1] not in line:  # long lines are cut
                sys.exit("line %d is not what was quoted: %s" % (quote["line"], quote["text"]))
    print("ok   %s: %s" % (layout, got))


def run(options, layout, launcher):
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "job.log")
        files = os.path.join(directory, "files")
        os.mkdir(files)
        # On several nodes MPICH 4.0 hangs in MPI_Finalize in half of the healthy jobs: UCX of rank 0 waits for its
        # peers, which wait for rank 0 in a fence of PMI, where they make no progress.
        nodes = 1 if options.expect == ["none:"] else slurm_cluster.NODES
        given = {"FILES": files, "RANKS": str(options.ranks), "NODES": str(nodes), "PORT": str(torch_ranks.free_port())}
        words = list(launcher)
        for name, value in given.items():
            words = [word.replace(name, value) for word in words]
        # The report of the launcher is one of the files.
        printed = os.path.join(files, "launcher.log") if layout == "files" else log
        with jobs.Job(["sh", "-c", 'exec "$@" > "$0" 2>&1', printed, *words, *options.command]) as job:
            wait_for(job, printed, options.hangs)
        check(options, files if layout == "files" else log, layout)
        if options.launcher == "torchrun":
            check(options, files, "files")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--launcher", required=True, choices=LAYOUTS)
    parser.add_argument("--ranks", required=True, type=int)
    parser.add_argument("--expect", required=True, action="append")
    parser.add_argument("--files", action="append", help="expected of a file a rank, if it is something else")
    parser.add_argument("--hangs", action="store_true", help="the job does not end")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if options.launcher == "slurm":
            why = slurm_cluster.why_not()
            if why:
                print("no Slurm here: " + why)
                sys.exit(jobs.SKIPPED)
            stack.enter_context(slurm_cluster.Cluster())
        for layout, launcher in LAYOUTS[options.launcher].items():
            run(options, layout, launcher)


if __name__ == "__main__":
    main()
