#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs generated placements of faults.

Each placement is a set of arguments of tests/faults/generated/placement.c, with the verdict that follows from
them. The list is the same on every machine. --sample runs a part of it that contains every mode, --batch I/N
one slice."""

import argparse
import os
import random
import re
import shutil
import sys

import expectations
import jobs
import run_job_test

ITERATIONS = 6
# No rank returns from these before all ranks have entered.
SYNCHRONISING = ["MPI_Barrier", "MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall",
                 "MPI_Reduce_scatter_block", "MPI_Ibarrier", "MPI_Iallreduce"]
ROOTED = ["MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Scatter", "MPI_Ibcast"]
REDUCING = ["MPI_Allreduce", "MPI_Reduce", "MPI_Scan", "MPI_Reduce_scatter_block",
            "MPI_Iallreduce"]
EVERY = SYNCHRONISING + ROOTED + ["MPI_Scan"]
WITH_DATA = [op for op in EVERY if op not in ("MPI_Barrier", "MPI_Ibarrier")]
# An MPI_Allgather follows the loop, and the second call of a step is an MPI_Allreduce. The same operation
# as the fault would match that call: the job would not hang, or would fail with a truncated message.
LOOP_ONLY = [op for op in SYNCHRONISING if op != "MPI_Allgather"]
BESIDE_USUAL = [op for op in EVERY if op != "MPI_Allreduce"]
# Mode: number of placements, and their operations.
MODES = {
    "none": (12, EVERY), "skip": (60, BESIDE_USUAL), "extra": (30, BESIDE_USUAL),
    "swap": (16, SYNCHRONISING), "root": (20, ROOTED), "op": (16, REDUCING),
    "type": (16, WITH_DATA), "count": (16, WITH_DATA), "short": (24, LOOP_ONLY),
    "leave": (12, SYNCHRONISING), "kill": (12, SYNCHRONISING),
}
KINDS = {
    "skip": "rank-conditional-collective", "extra": "rank-conditional-collective",
    "swap": "collective-mismatch", "root": "root-mismatch", "op": "op-mismatch",
    "type": "datatype-mismatch", "count": "count-mismatch", "short": "uneven-iterations",
    "leave": "finalized-early", "kill": "rank-died",
}


class Placement:
    """One set of arguments."""

    def __init__(self, mode, op, ranks, culprit, depth, iteration, count, comm):
        self.mode, self.op, self.ranks, self.culprit = mode, op, ranks, culprit
        self.depth, self.iteration, self.count, self.comm = depth, iteration, count, comm

    def arguments(self):
        return [self.mode, self.op, *map(str, (self.culprit, self.depth, self.iteration,
                                               self.count)), self.comm]

    def name(self):
        return "%s on %d ranks" % (" ".join(self.arguments()), self.ranks)

    def sequence(self):
        """Returns the first misaligned sequence number: two calls per iteration (one for mode extra)."""
        if self.mode == "extra":
            return self.iteration + 1
        return 2 * self.iteration + (2 if self.mode in ("swap", "leave") else 1)

    def finding(self, sites):
        """Returns the finding that rollcall must report; None for a healthy placement."""
        if self.mode == "none":
            return None
        sites = dict(sites, op=sites[self.op])
        # Mode: operation of the verdict, line of the culprit, line of the others.
        operation, culprit, others = {
            "skip": (self.op, "usual", "op"),
            "extra": (self.op, "op", "usual"),
            "swap": ("MPI_Allreduce", "other", "usual"),
            "short": (self.op, "after", "op"),
            "leave": ("MPI_Allreduce", "leave", "usual"),
            "kill": (self.op, None, "op"),
        }.get(self.mode, (self.op, "op", "op"))
        stuck = self.mode in ("short", "leave", "kill", "swap") or (
            self.mode in ("skip", "extra") and self.op in SYNCHRONISING)
        waiting = [rank for rank in range(self.ranks) if rank != self.culprit] if stuck else None
        lines = {"waiting": [sites[others]]}
        if culprit:
            lines["culprit"] = [sites[culprit]]
        # On a loaded machine, a rank that is killed right after its initialisation may end before the agent
        # has opened its pidfd. The cause of its end is then unknown, and the finding must not be proven.
        certainty = ["proven", "likely"] if self.mode == "kill" else ["proven"]
        return {"kind": KINDS[self.mode], "op": operation, "seq": self.sequence(),
                "culprits": [self.culprit], "waiting": waiting, "certainty": certainty,
                "analyze-certainty": certainty, "lines": lines}


def generate():
    """Returns all placements, in a fixed order that mixes the modes."""
    chooser = random.Random(20240531)
    placements = []
    for mode, (number, operations) in MODES.items():
        for i in range(number):
            ranks = chooser.choice([3, 4, 5])
            # rollcall must have recorded complete iterations of the loop before a rank leaves it early.
            first = 2 if mode == "short" else 0
            count = chooser.choice([2, 100, 20000])
            placements.append(Placement(
                mode, operations[i % len(operations)], ranks, chooser.randrange(ranks),
                chooser.choice([0, 1, 3, 10, 20]), chooser.randrange(first, ITERATIONS), count,
                chooser.choice(["world", "world", "dup"])))
    chooser.shuffle(placements)
    return placements


def sample(placements, number):
    """Returns `number` placements, with as many modes as possible first."""
    seen, first, rest = set(), [], []
    for placement in placements:
        (rest if placement.mode in seen else first).append(placement)
        seen.add(placement.mode)
    return (first + rest)[:number]


def sites_of(source):
    with open(source, encoding="utf-8") as file:
        lines = enumerate(file, 1)
        return {match.group(1): number for number, line in lines
                for match in [re.search(r"// @site:(\w+)", line)] if match}


def run(args, placement, sites):
    finding = placement.finding(sites)
    survive = placement.mode == "kill"
    variant = expectations.Variant({"ranks": str(placement.ranks)})
    variant.outcome = "any"
    variant.findings = [finding] if finding else []
    variant.launcher_args = jobs.keep_survivors(args.mpi) if survive else []
    variant.program_args = placement.arguments()
    directory = jobs.make_directory()
    try:
        test = run_job_test.test_fault if finding else run_job_test.test_control
        test(args, variant, directory)
        return True
    except run_job_test.Failure as failure:
        print("FAIL %s: %s" % (placement.name(), failure), flush=True)
        return False
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--mpi", choices=expectations.MPIS, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--batch", help="I/N: the I-th of N slices, from 1")
    parser.add_argument("--only", help="only placements whose name holds this text")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    args.source = os.path.abspath(args.source)
    placements = generate()
    if args.sample:
        placements = sample(placements, args.sample)
    if args.batch:
        index, number = map(int, args.batch.split("/"))
        placements = placements[index - 1::number]
    if args.only:
        placements = [p for p in placements if args.only in p.name()]
    if args.list:
        print("\n".join(p.name() for p in placements))
        return 0
    sites = sites_of(args.source)
    passed = sum(run(args, placement, sites) for placement in placements)
    print("%d of %d placements as expected" % (passed, len(placements)))
    return 0 if placements and passed == len(placements) else 1


if __name__ == "__main__":
    sys.exit(main())
