#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to a bare MPI job of two nodes, analyzes the bundle, then attaches to the job with ranks that record calls.

The nodes are one machine, and a script replaces ssh. As with Slurm, SLURMD_NODENAME gives the node of a rank. A third
node never answers, a fourth has no rank, and the script prints text before it runs the command.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import expectations
import jobs

PATIENCE_S = 90
FINDINGS = 1

RSH = """#!/bin/sh
echo "Welcome to $1"
export SLURMD_NODENAME="$1"
shift
case "$SLURMD_NODENAME" in silent) exec tail -f /dev/null ;; esac
exec sh -c "$*"
"""

# As above, and keeps the answers of the nodes. The second one begins after the first one has taken one sample.
LATE_RSH = """#!/bin/sh
export SLURMD_NODENAME="$1"
shift
answers=$(dirname "$0")/answer_of_
if [ "$SLURMD_NODENAME" = beta ]; then
  until grep -q '^rollcall-stacks alpha !' "$answers"alpha 2>/dev/null; do :; done
fi
sh -c "$*" | tee "$answers$SLURMD_NODENAME"
"""


def fail(text):
    print("FAIL " + text)
    sys.exit(1)


def require(wanted, got, what):
    if wanted != got:
        fail("%s: %s instead of %s" % (what, got, wanted))


def command_of(mpi, program):
    """Returns the command that starts two ranks on each of two nodes."""
    on_node = ["env", "SLURMD_NODENAME=alpha", program], ["env", "SLURMD_NODENAME=beta", program]
    return jobs.launcher(mpi, 2) + on_node[0] + [":", "-n", "2"] + on_node[1]


def run(words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False,
                          text=True)


def attach(args, directory, name, hosts, certainty=None):
    """Attaches until a verdict has findings, of `certainty` if it is given. Returns its text, its JSON, and standard
    error."""
    verdict = os.path.join(directory, "verdict.json")
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        done = run([args.rollcall, "attach", "--hosts", hosts, "--rsh",
                    os.path.join(directory, "rsh"), "--job", name, "--remote-rollcall",
                    os.path.join(directory, "it's rollcall"), "--node-timeout", "10", "--json", verdict, "--bundle",
                    os.path.join(directory, "bundle")])
        if done.returncode == FINDINGS:
            with open(verdict, encoding="utf-8") as file:
                found = json.load(file)
            if certainty in (None, found["findings"][0]["certainty"]):
                return done.stdout, found, done.stderr
    return fail("nothing was found in %d s: %s%s" % (PATIENCE_S, done.stdout, done.stderr))


def write_script(path, text):
    with open(path, "w", encoding="utf-8") as script:
        script.write(text)
    os.chmod(path, stat.S_IRWXU)
    return path


def looks_of(path):
    """Returns the times of the first and the second sample of the ranks of a node, from its answer."""
    text = ""
    with open(path, encoding="utf-8") as answer:
        for line in answer:
            part = line.rstrip("\n").split(" ", 2)[2]
            if part[0] in "+=":
                text += part[1:] + ("\n" if part[0] == "=" else "")
    ranks = [rank for line in text.splitlines() if (rank := json.loads(line).get("rank"))]
    return [[rank[look]["state"]["sampled_ns"] for rank in ranks] for look in ("first", "second")]


def test_looks_are_together(args, directory, name):
    """Checks that no second sample is taken before all nodes have taken the first, however late a node begins."""
    rsh = write_script(os.path.join(directory, "late_rsh"), LATE_RSH)
    run([args.rollcall, "attach", "--hosts", "alpha,beta", "--rsh", rsh, "--job", name, "--node-timeout", "60",
         "--between", "0.01", "--confirm", "0"])
    first, second = zip(*[looks_of(os.path.join(directory, "answer_of_" + node)) for node in ("alpha", "beta")])
    require([2, 2], [len(looks) for looks in first], "ranks that were looked at")
    if max(sum(first, [])) >= min(sum(second, [])):
        fail("the looks are not together: %s and %s" % (first, second))


def test(args, directory):
    name = "nodes%d" % os.getpid()
    program = os.path.join(directory, name)
    shutil.copy(args.program, program)
    write_script(os.path.join(directory, "rsh"), RSH)
    os.symlink(os.path.abspath(args.rollcall), os.path.join(directory, "it's rollcall"))
    wanted = expectations.read(args.source, args.mpi)[0].findings[0]
    with jobs.Job(command_of(args.mpi, program)) as job:
        text, verdict, said = attach(args, directory, name, "alpha,beta,silent,empty")
        test_looks_are_together(args, directory, name)
        if not job.running():
            fail("the job ended")
    finding = verdict["findings"][0]
    require(wanted["culprits"], finding["culprits"], "culprits")
    require([{"host": "alpha", "ranks": [0]}],
            [{"host": host["host"], "ranks": host["ranks"]} for host in finding["culprit_hosts"]], "hosts")
    require(2, verdict["hosts"], "number of hosts")
    # The note about the fourth node depends on the other jobs of this machine.
    for line in ("silent: no answer for 10 s", "empty: "):
        if not any(line in note for note in verdict["notes"]):
            fail("no note of '%s': %s" % (line, verdict["notes"]))
    if "alpha: Welcome to alpha" not in said:
        fail("what the script said is not shown: " + said)

    again = os.path.join(directory, "again.json")
    done = run([args.rollcall, "analyze", os.path.join(directory, "bundle"), "--json", again])
    require(FINDINGS, done.returncode, "exit code of analyze")
    require(text, done.stdout, "text of analyze")
    with open(again, encoding="utf-8") as file:
        require(verdict, json.load(file), "verdict of analyze")

    run_directory = jobs.make_directory()
    recorded = [args.rollcall, "run", "--on-hang=report", "--dir", run_directory, "--"]
    try:
        with jobs.Job(recorded + command_of(args.mpi, program)):
            text, verdict, said = attach(args, directory, name, "alpha,beta", certainty="proven")
    finally:
        shutil.rmtree(run_directory)
    require(wanted["culprits"], verdict["findings"][0]["culprits"], "culprits by the records")
    if "\n  stacks\n" not in text:
        fail("no tree of stacks: " + text)
    print("ok   %s %s" % (finding["kind"], finding["certainty"]))


def main():
    args = jobs.arguments_of_test(__doc__, ("openmpi", "mpich"))
    os.environ.setdefault("UCX_LOG_LEVEL", "fatal")
    with tempfile.TemporaryDirectory() as directory:
        test(args, directory)


if __name__ == "__main__":
    main()
