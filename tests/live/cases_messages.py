# SPDX-License-Identifier: Apache-2.0
"""Tests of the numbers of messages: a program that uses more tags than a ring has room for."""

import csv
import os
import re
import subprocess

import jobs
import live
from live import Command, require

PYTHON = "/usr/bin/python3"  # Debian's Python, for which mpi4py is installed
PROGRAM = os.path.join(live.HERE, "object_rounds.py")
ROUNDS = 4000  # a ring has room for 3,072 channels


def ask(scene, *words):
    return subprocess.run([scene.rollcall, *words, scene.run_directory], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=live.PATIENCE_S, check=False).stdout


def messages_of_many_tags(scene):
    """mpi4py reduces objects by messages with a new tag each time: the sum over all tags is exact on both sides."""
    if subprocess.run([PYTHON, "-c", "import mpi4py"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise live.Unavailable("mpi4py is not installed")
    with Command(scene.run("--keep") + jobs.launcher("openmpi", 2) + [PYTHON, PROGRAM, str(ROUNDS)]) as job:
        job.ends(0)
        require(job.stdout().count("has all sums") == 2, "the job failed", job)
    table = scene.path("messages.csv")
    ask(scene, "analyze", "--output", "messages=" + table)
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sums = [row for row in rows if row["tag"] == "all"]
    require(sums, "no messages: %s" % rows[:8])
    for row in sums:
        # Each round has the same messages, whose number depends on the version of mpi4py.
        require(row["sent"] == row["received"] and int(row["sent"]) % ROUNDS == 0, str(row))
        require(row["outstanding"] == "", str(row))
    of_tags = [row["tag"] for row in rows if (row["from"], row["to"]) == (sums[0]["from"], sums[0]["to"])]
    require("any" in of_tags, "the tags did not run out: %s" % of_tags[:8])
    shown = ask(scene, "show", "--messages", "--rank", sums[0]["from"])
    require(re.search(r"all tags +sent %s +received %s\n" % (sums[0]["sent"], sums[0]["received"]), shown), shown)
    require(re.search(r"… and \d+ more tags\n", shown), shown)


CASES = {case.__name__: case for case in (messages_of_many_tags,)}
