#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/release and cmake/commit.cmake in a small clone: release_test.py ROOT.

scripts/release --dry-run must refuse each defect. cmake/commit.cmake must find the commit, and write nothing if the
commit is the same.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv[1]
FILES = ("CMakeLists.txt", "CHANGELOG.md", "CITATION.cff", "scripts/common.sh", "scripts/release")


class Clone(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        for name in FILES:
            path = os.path.join(self.directory.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), path)
        # Entries for the next release may stand below Unreleased at any time.
        text = self.read("CHANGELOG.md")
        begin, end = text.index("## [Unreleased]"), text.index("\n## [", text.index("## [Unreleased]"))
        self.write("CHANGELOG.md", text[:begin] + "## [Unreleased]\n" + text[end:])
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *words], check=True,
                       cwd=self.directory.name, stdout=subprocess.DEVNULL)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "test")

    def read(self, name):
        with open(os.path.join(self.directory.name, name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(os.path.join(self.directory.name, name), "w", encoding="utf-8") as file:
            file.write(text)


class ReleaseTest(Clone):
    def release(self):
        return subprocess.run(["scripts/release", "--dry-run"], cwd=self.directory.name, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def refused(self, reason):
        done = self.release()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(reason, done.stderr)

    def test_prints_the_message_and_makes_no_tag(self):
        done = self.release()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("### Added", done.stdout)
        self.assertNotIn("0.1.0", done.stdout)  # the section before
        self.assertEqual(subprocess.run(["git", "tag"], cwd=self.directory.name, stdout=subprocess.PIPE).stdout, b"")

    def test_refuses_a_changed_file(self):
        self.write("CMakeLists.txt", self.read("CMakeLists.txt") + "\n")
        self.refused("files are changed")

    def test_refuses_a_new_file(self):
        self.write("new.cc", "")
        self.refused("files are changed")

    def test_refuses_another_branch(self):
        self.git("checkout", "-q", "-b", "other")
        self.refused("not main")

    def test_refuses_a_version_that_the_changelog_lacks(self):
        self.write("CMakeLists.txt", self.read("CMakeLists.txt").replace("rollcall VERSION ", "rollcall VERSION 9"))
        self.commit()
        self.refused("CHANGELOG.md has no heading")

    def test_refuses_unreleased_entries(self):
        self.write("CHANGELOG.md", self.read("CHANGELOG.md").replace("## [Unreleased]\n", "## [Unreleased]\n\n- More.\n"))
        self.commit()
        self.refused("below Unreleased")

    def test_refuses_another_version_in_the_citation(self):
        self.write("CITATION.cff", self.read("CITATION.cff").replace("\nversion: ", "\nversion: 9"))
        self.commit()
        self.refused("CITATION.cff has another version")

    def test_refuses_a_tag_that_exists(self):
        version = self.read("CITATION.cff").split("\nversion: ")[1].split("\n")[0]
        self.git("tag", "v" + version)
        self.refused("exists")


class CommitTest(Clone):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.directory.name, ".git", "commit.cc")

    def described(self):
        subprocess.run(["cmake", "-DGIT=" + shutil.which("git"), "-DROOT=" + self.directory.name, "-DOUT=" + self.out,
                        "-P", os.path.join(ROOT, "cmake/commit.cmake")], check=True)
        with open(self.out, encoding="utf-8") as file:
            return file.read().split('"')[3]

    def test_finds_the_commit_and_changes(self):
        commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=self.directory.name, check=True,
                                stdout=subprocess.PIPE, text=True).stdout.strip()
        self.assertEqual(self.described(), commit)
        self.git("tag", "v0")
        self.assertEqual(self.described(), commit)
        self.write("CMakeLists.txt", "")
        self.assertEqual(self.described(), commit + "-dirty")

    def test_writes_nothing_if_the_commit_is_the_same(self):
        self.described()
        os.utime(self.out, (1, 1))
        self.described()
        self.assertEqual(os.stat(self.out).st_mtime, 1)

    def test_knows_no_commit_outside_of_a_clone(self):
        os.rename(os.path.join(self.directory.name, ".git"), os.path.join(self.directory.name, "git"))
        self.out = os.path.join(self.directory.name, "commit.cc")
        self.assertEqual(self.described(), "unknown")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
