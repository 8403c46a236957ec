#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every block of docs/tutorial.md in one shell, in order, as a reader would.

    tutorial_test.py [--rollcall BIN] --page FILE [--update]

The comment in front of a block says what it is:

    <!-- installed -->     commands that install rollcall; the test uses BIN instead
    <!-- file: NAME -->    the content of a file, which is written
    <!-- run: CODE -->     commands, whose last exits with CODE; without CODE, each exits with 0
    <!-- output -->        what the commands before it print: a verdict, compared as in shown_verdicts.py, or lines

A block without such a comment is an error. --update writes the printed verdicts into the page. The test is skipped if
Open MPI or PyTorch is missing.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import shown_verdicts  # noqa: E402

BLOCK = re.compile(r"(?:<!-- ([^\n]*) -->\n)?```(\w*)\n(.*?)```$", re.DOTALL | re.MULTILINE)
SKIPPED = 77
PYTHON = "/usr/bin/python3"  # Debian's PyTorch belongs to it
# Prints the exit code and the environment after the commands of a block, for the next block.
AFTER = '{ echo $?; export -p; } > "$STATE"'


class Reader:
    """Runs blocks of commands in a directory of its own. What a block exports is set in the next one."""

    def __init__(self, rollcall, directory):
        self.directory = directory
        self.state = os.path.join(directory, ".state")
        self.exports = ""
        tools = os.path.join(directory, ".bin")
        os.mkdir(tools)
        for name, path in (("rollcall", rollcall), ("python3", PYTHON), ("mpicc", shutil.which("mpicc.openmpi")),
                           ("mpirun", shutil.which("mpirun.openmpi"))):
            with open(os.path.join(tools, name), "w", encoding="utf-8") as script:
                script.write('#!/bin/sh\nexec "%s" "$@"\n' % path)
            os.chmod(os.path.join(tools, name), 0o755)
        os.environ.update(PATH="%s:%s" % (tools, os.environ["PATH"]), STATE=self.state)

    def run(self, commands, code):
        """Returns the output of both streams; exits if the last command does not exit with `code`."""
        script = "cd '%s'\n%s\n%strap '%s' EXIT\n%s" % (
            self.directory, self.exports, "set -e\n" if code == 0 else "", AFTER, commands)
        printed = shown_verdicts.output_of(["bash", "-c", script], commands)
        with open(self.state, encoding="utf-8") as state:
            exited, self.exports = state.read().split("\n", 1)
        if int(exited) != code:
            sys.exit("exit code %s, not %d:\n%s\n%s" % (exited, code, commands, printed))
        return printed


def check_output(page, shown, printed):
    """Returns the differences, and what the page should show."""
    verdicts = shown_verdicts.VERDICT.findall(printed)
    if not verdicts:
        missing = [line for line in shown.splitlines() if line not in printed.splitlines()]
        return ["%s: not printed: %s" % (page, line) for line in missing], shown
    verdict = verdicts[-1].rstrip() + "\n"
    return list(difflib.unified_diff(shown_verdicts.comparable(shown), shown_verdicts.comparable(verdict), page,
                                     "printed", lineterm="")), verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", default=os.path.join(shown_verdicts.ROOT, "build/release/bin/rollcall"))
    parser.add_argument("--page", required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    has_torch = subprocess.run([PYTHON, "-c", "import importlib.util as i, sys; sys.exit(i.find_spec('torch') is None)"])
    if has_torch.returncode != 0 or not shutil.which("mpicc.openmpi") or not shutil.which("mpirun.openmpi"):
        sys.exit(SKIPPED)
    with open(arguments.page, encoding="utf-8") as file:
        page = file.read()
    differences = []
    printed = ""
    with tempfile.TemporaryDirectory() as directory:
        reader = Reader(os.path.abspath(arguments.rollcall), directory)

        def follow(block):
            nonlocal printed
            kind, _, argument = (block.group(1) or "").partition(": ")
            text = block.group(3)
            if kind == "file":
                with open(os.path.join(directory, argument), "w", encoding="utf-8") as file:
                    file.write(text)
            elif kind == "run":
                printed = reader.run(text, int(argument or 0))
            elif kind == "output":
                different, text = check_output(arguments.page, text, printed)
                differences.extend(different)
            elif kind != "installed":
                sys.exit("%s: a block is not run:\n%s" % (arguments.page, text))
            begin, end = (block.start(3) - block.start(), block.end(3) - block.start())
            return block.group(0)[:begin] + text + block.group(0)[end:]

        updated = BLOCK.sub(follow, page)
        if not os.path.getsize(os.path.join(directory, "hang.html")):
            sys.exit("hang.html is empty")
    if arguments.update:
        with open(arguments.page, "w", encoding="utf-8") as file:
            file.write(updated)
    elif differences:
        sys.exit("\n".join(differences))


if __name__ == "__main__":
    main()
