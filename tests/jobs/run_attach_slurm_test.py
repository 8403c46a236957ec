#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attaches to a bare MPI job on three nodes of a Slurm cluster that it starts (slurm_cluster.py)."""

import json
import os
import subprocess
import sys
import time

import expectations
import jobs
import slurm_cluster

PATIENCE_S = 120
FINDINGS = 1
RANKS = 6


def fail(text):
    print("FAIL " + text)
    sys.exit(1)


def require(wanted, got, what):
    if wanted != got:
        fail("%s: %s instead of %s" % (what, got, wanted))


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False,
                          text=True)


def command_of(mpi, name, program):
    shape = ["--job-name", name, "--nodes", str(slurm_cluster.NODES),
             "--ntasks-per-node", str(RANKS // slurm_cluster.NODES)]
    if mpi == "mpich":
        return ["srun", "--mpi=pmi2"] + shape + [program]
    return ["salloc"] + shape + jobs.launcher(mpi, RANKS) + [program]


def attach(args, name):
    """Returns the first verdict with findings."""
    deadline = time.monotonic() + PATIENCE_S
    done = None
    while time.monotonic() < deadline:
        job = run("squeue", "--noheader", "--states=RUNNING", "--name", name, "--format=%i").stdout.strip()
        if not job:
            continue
        done = run(args.rollcall, "attach", "--slurm", job, "--node-timeout", "30", "--json", "-")
        if done.returncode == FINDINGS:
            return json.loads(done.stdout)
    return fail("nothing was found in %d s: %s" % (PATIENCE_S, done and done.stdout + done.stderr))


def test(args):
    wanted = expectations.read(args.source, args.mpi)[0].findings[0]
    name = "rollcall-test-%d" % os.getpid()
    with jobs.Job(command_of(args.mpi, name, args.program)) as job:
        verdict = attach(args, name)
        if not job.running():
            fail("the job ended")
    finding = verdict["findings"][0]
    require(wanted["culprits"], finding["culprits"], "culprits")
    require(list(range(1, RANKS)), finding["waiting"], "who waits")
    require(slurm_cluster.NODES, verdict["hosts"], "number of hosts")
    require(["node1"], [host["host"] for host in finding["culprit_hosts"]], "hosts of the culprits")
    require([], verdict["notes"], "notes")
    print("ok   %s %s" % (finding["kind"], finding["certainty"]))


def main():
    args = jobs.arguments_of_test(__doc__, ("openmpi", "mpich"))
    os.environ.setdefault("UCX_LOG_LEVEL", "fatal")
    why = slurm_cluster.why_not()
    if why:
        print("no Slurm here: " + why)
        sys.exit(jobs.SKIPPED)
    with slurm_cluster.Cluster():
        test(args)


if __name__ == "__main__":
    main()
