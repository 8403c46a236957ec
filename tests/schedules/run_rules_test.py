#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one program of tests/schedules/rules, which checks a rule of MPI itself, along the plan of its header comment.

    schedules-rule: ranks=N follows=yes|no [code=N] [options=WORD,...] [mpi=NAME]
    plan: LINE
    says: TEXT

`follows` says whether the plan can come about; if not, rollcall must say so. `code`: rollcall's exit code, 0 unless
given. `says`: what rollcall must print. `mpi`: the only library that runs the program (tests/schedules.cmake).
"""

import argparse
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--rollcall", "--mpi", "--source", "--program"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    with open(args.source, encoding="utf-8") as file:
        text = file.read()
    wanted = dict(word.split("=", 1) for word in re.search(r"^// schedules-rule: (.*)$", text, re.M).group(1).split())
    lines = re.findall(r"^// plan: (.*)$", text, re.M)
    says = re.findall(r"^// says: (.*)$", text, re.M)
    options = [word for word in wanted.get("options", "").split(",") if word]
    with tempfile.TemporaryDirectory(prefix="rollcall-rules-") as directory:
        plan = os.path.join(directory, "plan")
        with open(plan, "w", encoding="utf-8") as file:
            file.write("rollcall-steer 1\n" + "".join(line + "\n" for line in lines))
        command = [args.rollcall, "check", "--color=never", "--replay", plan] + options + ["--"]
        with jobs.Job(command + jobs.launcher(args.mpi, int(wanted["ranks"])) + [args.program]) as job:
            code = job.wait()
            said = job.stderr()
            followed = "the plan was not followed" not in said
            as_wanted = code == int(wanted.get("code", 0)) and followed == (wanted["follows"] == "yes")
            if as_wanted and all(line in said for line in says):
                return 0
            print("exit code %s\n%s%s" % (code, job.stdout(), said), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
