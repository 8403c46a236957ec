#!/usr/bin/env python3
"""Runs pytest with mpi4py under `rollcall check` as in docs/ci.md: it passes, or the skipped test is reported."""

import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import jobs  # noqa: E402

PYTHON = "/usr/bin/python3"  # Debian's Python, for which mpi4py and pytest are installed
MISSING = 77


def check(args, directory, module, expected, uneven=False):
    out = os.path.join(directory, "verdict.json")
    words = ["env"] + (["UNEVEN=1"] if uneven else []) + [
        args.rollcall, "check", "--color=never", "--kill-after", "1", "--output", "json=" + out, "--"]
    words += jobs.launcher("openmpi", 2) + [
        PYTHON, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
        os.path.join(HERE, "pytest_recipe", module)]
    with jobs.Job(words) as job:
        code = job.wait()
        if code != expected:
            sys.exit("%s: exit code %s instead of %d\n%s%s" % (module, code, expected, job.stdout(), job.stderr()))
    with open(out, encoding="utf-8") as file:
        return json.load(file)["findings"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    args = parser.parse_args()
    there = subprocess.run([PYTHON, "-c", "import mpi4py, pytest"], stdin=subprocess.DEVNULL,
                           capture_output=True, check=False)
    if there.returncode != 0:
        print("SKIPPED: Debian's mpi4py and pytest are not installed")
        sys.exit(MISSING)
    directory = jobs.make_directory()
    try:
        for module in ("test_halo.py", "test_uneven.py"):
            if check(args, directory, module, 0):
                sys.exit("%s: something was found" % module)
        findings = check(args, directory, "test_uneven.py", 1, uneven=True)
        source = os.path.join(HERE, "pytest_recipe", "test_uneven.py")
        with open(source, encoding="utf-8") as file:
            line = [number for number, text in enumerate(file, 1) if "@waiting" in text][0]
        named = [site["line"] for finding in findings for site in finding["lines"]
                 if os.path.basename(site["file"] or "") == "test_uneven.py"]
        if line not in named:
            sys.exit("line %d is not named: %s" % (line, json.dumps(findings, indent=1)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
