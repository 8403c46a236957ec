#!/usr/bin/env python3
"""The README's verdict is one that the program prints: runs it again and compares.

    readme_test.py --rollcall BIN --program EXE --readme README.md [--update]

--update writes the verdict into the README instead. What differs from run to run (how long nothing moved)
is left out of both sides.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys

BLOCK = re.compile(r"(<!-- verdict: [^>]*-->\n```\n)(.*?)(\n```\n<!-- /verdict -->)", re.DOTALL)
OWN_REMARK = re.compile(r"^rollcall: (ends|traces)", re.MULTILINE)


def verdict(rollcall, program):
    """What the job's run prints as verdict, without rollcall's remarks about the run itself."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(
        [rollcall, "run", "--on-hang=kill", "--color=never", "--", "mpirun.openmpi", "--oversubscribe",
         "-n", "4", program],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        env=environment, check=False)
    start = done.stdout.find("rollcall: hung")
    if done.returncode != 86 or start < 0:
        sys.exit(f"no verdict (exit code {done.returncode}):\n{done.stdout}")
    text = done.stdout[start:]
    end = OWN_REMARK.search(text)
    return text[: end.start() if end else None].rstrip()


def comparable(text):
    return re.sub(r" · no progress for [0-9.]+ s", "", text).splitlines()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--readme", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.readme, encoding="utf-8") as file:
        readme = file.read()
    block = BLOCK.search(readme)
    if block is None:
        sys.exit(f"{arguments.readme}: no <!-- verdict --> block")
    printed = verdict(arguments.rollcall, arguments.program)
    if arguments.update:
        with open(arguments.readme, "w", encoding="utf-8") as file:
            file.write(readme[: block.start(2)] + printed + readme[block.end(2):])
        return
    difference = list(difflib.unified_diff(comparable(block.group(2)), comparable(printed), "README.md",
                                           "printed", lineterm=""))
    if difference:
        sys.exit("\n".join(difference))


if __name__ == "__main__":
    main()
