#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares man pages and completions with --help: command_texts_test.py ROLLCALL SOURCES.

Each command of cli/commands.def has a man page. Each option that its --help lists is in that page and in the completion
of each shell. The pages are ASCII, and groff formats them without a warning. Each completion has no error of syntax,
and bash offers the options and values that fit. Shells that are not installed are skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROLLCALL, SOURCES = sys.argv[1:3]
SHELLS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}
BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { :; }
_rollcall
printf '%s\\n' "${COMPREPLY[@]}"
"""


def output_of(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def commands():
    with open(os.path.join(SOURCES, "cli/commands.def"), encoding="utf-8") as table:
        return re.findall(r'^COMMAND\((\w+), \w+, "(.*)"\)', table.read(), re.MULTILINE)


def options(command):
    """The options that --help lists, without the other options that such a line names."""
    text = output_of(ROLLCALL, "help", command)
    first = re.findall(r"^  (-[-\w,]+)", text, re.MULTILINE)
    return [name for names in first for name in names.split(",")]


class CommandTexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        subprocess.run([ROLLCALL, "help", "--man", cls.directory.name], check=True)
        cls.completions = {}
        for shell in SHELLS:
            cls.completions[shell] = os.path.join(cls.directory.name, "completion." + shell)
            with open(cls.completions[shell], "w", encoding="utf-8") as file:
                file.write(output_of(ROLLCALL, "help", "--completion", shell))

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def read(self, name):
        encoding = "ascii" if name.endswith(".1") else "utf-8"
        with open(os.path.join(self.directory.name, name), encoding=encoding) as file:
            return file.read()

    def test_pages_have_every_command_and_option(self):
        names = [name for name, _ in commands()]
        self.assertGreater(len(names), 10)
        self.assertEqual(sorted(name for name in os.listdir(self.directory.name) if name.endswith(".1")),
                         sorted(["rollcall.1"] + ["rollcall-%s.1" % name for name in names]))
        for name, summary in commands():
            self.assertIn("rollcall\\-%s (1)" % name, self.read("rollcall.1"))
            page = self.read("rollcall-%s.1" % name)
            self.assertIn(summary.replace("-", "\\-"), page)
            for option in options(name):
                self.assertIn("\\fB%s\\fR" % option.replace("-", "\\-"), page, name)

    def test_pages_have_every_section(self):
        for name, _ in commands():
            page = self.read("rollcall-%s.1" % name)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
                self.assertIn(".SH %s\n" % section, page, name)
        self.assertIn(".SH EXIT STATUS\n0 nothing found, 1 findings", self.read("rollcall-check.1"))
        self.assertIn(".B ROLLCALL_DIR\n", self.read("rollcall.1"))

    def test_completions_have_every_command_and_option(self):
        for shell in SHELLS:
            text = self.read("completion." + shell)
            for name, _ in commands():
                self.assertRegex(text, r"\b%s\b" % name)
                for option in options(name):
                    if shell == "bash":
                        part = re.search(r"^    %s\)\n      options='(.*)'$" % name, text, re.MULTILINE).group(1).split()
                        self.assertIn(option, part, name)
                    elif shell == "zsh":
                        part = re.search(r"^    %s\)\n(.*?)^      ;;" % name, text, re.MULTILINE | re.DOTALL).group(1)
                        self.assertRegex(part, r"'\*?%s[=+]?\[" % option, name)
                    else:
                        spelling = "-l " + option[2:] if option.startswith("--") else "-s " + option[1:]
                        self.assertRegex(text, r"__fish_seen_subcommand_from %s'.* %s " % (name, spelling), name)

    def test_pages_are_formatted_without_warnings(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        for name in ["rollcall"] + ["rollcall-" + name for name, _ in commands()]:
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tascii", os.path.join(self.directory.name, name + ".1")],
                                  stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_completions_have_no_error_of_syntax(self):
        for shell, check in SHELLS.items():
            if shutil.which(shell) is None:
                continue
            done = subprocess.run([*check, self.completions[shell]], stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def completed(self, *words):
        return output_of("bash", "-c", BASH, "bash", self.completions["bash"], *words).split()

    def test_bash_offers_what_fits(self):
        self.assertEqual(self.completed("rollcall", "an"), ["analyze"])
        self.assertEqual(self.completed("rollcall", "help", "to"), ["top"])
        self.assertEqual(self.completed("rollcall", "run", "--on"), ["--on-hang"])
        self.assertEqual(self.completed("rollcall", "run", "--on-hang", "k"), ["kill"])
        self.assertEqual(self.completed("rollcall", "analyze", "--output", "=", "js"), ["json="])
        self.assertEqual(self.completed("rollcall", "analyze", "--output", "="),
                         self.completed("rollcall", "analyze", "--output", ""))
        self.assertEqual(self.completed("rollcall", "show", "--mess"), ["--messages"])
        self.assertEqual(self.completed("rollcall", "run", "--", "mpirun", "--on"), [])

    def test_fish_offers_what_fits(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        environment = dict(os.environ, HOME=self.directory.name)
        for line, offered in (("rollcall run --on-hang k", "kill"), ("rollcall an", "analyze"),
                              ("rollcall run --on-hang kill -- pytho", "python3")):
            script = "source %s; complete -C '%s'" % (self.completions["fish"], line)
            words = output_of("fish", "--no-config", "-c", script, env=environment).replace("\t", "\n").split("\n")
            self.assertIn(offered, words)

    def test_an_unknown_shell_is_refused(self):
        done = subprocess.run([ROLLCALL, "help", "--completion", "csh"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash, zsh and fish", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
