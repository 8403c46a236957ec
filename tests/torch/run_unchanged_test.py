#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a healthy PyTorch job bare and under `rollcall run`: nothing may differ.

The output (losses to the bit) and the exit code are the same, no finding is made, as many ranks are recorded as there
are, and no file is left. Memory and open files of the ranks do not grow while they train. By hand, for longer, or
with another PyTorch:

  run_unchanged_test.py --rollcall build/release/bin/rollcall --steps 10000 --python "COMMAND ..." train
"""

import argparse
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402
import verdicts  # noqa: E402

LAUNCHER = os.path.join(HERE, "..", "jobs", "torch_ranks.py")
PATIENCE_S = 500
# What a rank's private memory may grow by between the first quarter of its training and the end.
MOST_GROWTH_KIB = 1024
# Case: program, ranks to launch (0: it is started alone), rings.
CASES = {"train": ("train.py", 2, 2), "spawn": ("spawn.py", 0, 4), "fork": ("spawn.py", 0, 4),
         "loaders": ("loaders.py", 2, 2), "alone": ("alone.py", 0, 0)}


class Failure(Exception):
    """The test failed; the text says how."""


def command_of(args, directory):
    program, ranks, _ = CASES[args.case]
    command = [*args.python.split(), os.path.join(HERE, "programs", program)]
    if program == "spawn.py":
        command.append(args.case)
    if args.case == "train":
        command += [str(args.steps), directory]
    if ranks:
        command = [sys.executable, LAUNCHER, str(ranks)] + command
    return command


def run(args, scratch, rollcall):
    """Exit code, output, and what every rank wrote about itself."""
    directory = os.path.join(scratch, "observed" if rollcall else "bare")
    own = os.path.join(directory, "own")
    work = os.path.join(directory, "work")
    os.makedirs(own)
    os.makedirs(work)
    command = command_of(args, own)
    if rollcall:
        command = [args.rollcall, "run", "--on-hang=kill", "--dir", os.path.join(directory, "run"),
                   "--json", os.path.join(directory, "verdict.json"), "--"] + command
    with jobs.Job(["env", "-C", work, "TMPDIR=" + work, "OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=lo",
                   "PYTHONDONTWRITEBYTECODE=1", *command]) as job:
        code = job.wait(PATIENCE_S)
        if code is None:
            raise Failure("still running after %d s\n%s" % (PATIENCE_S, job.stderr()))
        output = job.stdout()
        if os.listdir(work):
            raise Failure("files are left: %s" % os.listdir(work))
        if rollcall:
            check_observation(args, directory, job.stderr())
        return code, output, [numbers_of(os.path.join(own, name)) for name in sorted(os.listdir(own))], job.stderr()


def numbers_of(path):
    with open(path, encoding="utf-8") as file:
        return [tuple(map(int, line.split())) for line in file]


def check_observation(args, directory, errors):
    with open(os.path.join(directory, "verdict.json"), encoding="utf-8") as file:
        verdict = verdicts.load(file.read())
    if verdict["findings"]:
        raise Failure("findings: %s" % json.dumps(verdict["findings"], indent=1))
    rings = os.path.join(directory, "run", "rings")
    made = len(os.listdir(rings)) if os.path.isdir(rings) else 0
    if made != CASES[args.case][2]:
        raise Failure("%d rings, expected %d\n%s" % (made, CASES[args.case][2], errors))


def check_growth(name, ranks):
    """Prints what each rank has grown by since its first quarter."""
    for rank, rows in enumerate(ranks):
        memory, files = rows[-1][1] - rows[0][1], rows[-1][2] - rows[0][2]
        print("%s, rank %d: private memory %+d KiB of %d, open files %+d of %d, steps %d to %d" % (
            name, rank, memory, rows[-1][1], files, rows[-1][2], rows[0][0], rows[-1][0]),
            "  " + " ".join(str(row[1]) for row in rows))
        if memory > MOST_GROWTH_KIB or files != 0:
            raise Failure("a rank grows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter, with its arguments")
    parser.add_argument("--steps", type=int, default=400, help="of train")
    parser.add_argument("case", choices=sorted(CASES))
    args = parser.parse_args()
    args.rollcall = os.path.abspath(args.rollcall)
    try:
        with tempfile.TemporaryDirectory(prefix="rollcall-torch-") as scratch:
            code, output, bare, errors = run(args, scratch, rollcall=False)
            if not output:
                raise Failure("the job itself fails:\n%s" % errors)
            observed_code, observed_output, observed, errors = run(args, scratch, rollcall=True)
            if observed_code != code:
                raise Failure("exit code %d, under rollcall %d\n%s" % (code, observed_code, errors))
            if observed_output != output:
                raise Failure("output:\n%s--- under rollcall:\n%s" % (output, observed_output))
            check_growth("bare", bare)
            check_growth("under rollcall", observed)
    except Failure as failure:
        print("FAILED: %s" % failure)
        return 1
    print("passed: exit code %d, %s" % (code, " / ".join(output.split("\n")[-3:-1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
