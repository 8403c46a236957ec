#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the recipes of docs/ci.md unchanged, and checks their findings.

Exit code 77 without PyYAML.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: no PyYAML (Debian: python3-yaml)")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOTHING, FINDINGS = 0, 1
TIMEOUT_S = 120
# These variables of the services would change the root of source paths.
SERVICE_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


class Recipe:
    """The recipe of one service: the check command, its variables, and the files that it publishes."""

    def __init__(self, command, variables, files):
        self.command, self.files = command, files
        self.variables = {name: str(value) for name, value in variables.items()}


def recipes():
    with open(os.path.join(ROOT, "docs", "ci.md"), encoding="utf-8") as page:
        blocks = re.findall(r"^```yaml\n(.*?)^```$", page.read(), re.DOTALL | re.MULTILINE)
    github, gitlab = (yaml.safe_load(block) for block in blocks)
    steps = github["jobs"]["check"]["steps"]
    check = next(step for step in steps if "rollcall check" in step.get("run", ""))
    upload = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    job = gitlab["mpi"]
    artifacts = job["artifacts"]
    return {
        "GitHub": Recipe(check["run"], check["env"], [upload["with"]["sarif_file"]]),
        "GitLab": Recipe(next(line for line in job["script"] if "rollcall check" in line), job["variables"],
                         [artifacts["reports"]["junit"], *artifacts["paths"]]),
    }


def run(recipe, args, mode):
    """Runs the recipe in a project whose tests do `mode`; returns exit code, output, and which of its files exist."""
    with tempfile.TemporaryDirectory(prefix="rollcall-recipe-") as project:
        os.mkdir(os.path.join(project, "build"))
        program = os.path.join(project, "build", "tests")
        with open(program, "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\nexec "%s" %s\n' % (args.leftovers, mode))
        os.chmod(program, 0o755)
        env = {name: value for name, value in os.environ.items() if name not in SERVICE_VARIABLES}
        env.update(recipe.variables)
        os.mkdir(os.path.join(project, "bin"))
        for name, path in (("mpirun", args.mpirun), ("rollcall", args.rollcall)):
            os.symlink(path, os.path.join(project, "bin", name))
        env["PATH"] = os.path.join(project, "bin") + os.pathsep + env["PATH"]
        done = subprocess.run(["bash", "-e", "-c", recipe.command], cwd=project, env=env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_S, check=False)
        there = [name for name in recipe.files if os.path.exists(os.path.join(project, name))]
        return done.returncode, done.stdout, there


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--leftovers", required=True, help="leftovers.c, built with Open MPI")
    parser.add_argument("--mpirun", required=True, help="Open MPI's")
    args = parser.parse_args()
    for name, recipe in recipes().items():
        for mode, expected in (("clean", NOTHING), ("broadcast", FINDINGS)):
            code, output, there = run(recipe, args, mode)
            if code != expected:
                print("%s: exit code %d instead of %d:\n%s" % (name, code, expected, output))
                return 1
            if expected == FINDINGS and there != recipe.files:
                print("%s: there are only %s of %s:\n%s" % (name, there, recipe.files, output))
                return 1
            if name == "GitHub" and ("::error " in output) != (expected == FINDINGS):
                print("%s: annotations are\n%s" % (name, output))
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
