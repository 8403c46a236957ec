#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs rollcall to a prefix, and has a CMake project outside this repository use it with ctest."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.join(HERE, "project")
TIMEOUT_S = 120


def run(command, env):
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(command), done.stdout))
    return done.stdout


def culprit_line():
    with open(os.path.join(PROJECT, "halo.c"), encoding="utf-8") as source:
        return [number for number, line in enumerate(source, 1) if "@culprit" in line][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--mpicc", required=True)
    parser.add_argument("--mpirun", required=True)
    args = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="rollcall-package-")
    try:
        prefix, build = os.path.join(directory, "prefix"), os.path.join(directory, "build")
        project = os.path.join(directory, "project")
        shutil.copytree(PROJECT, project)
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # The project must not use the environment of this repository's build.
        for name in ("ROLLCALL_DIR", "LD_PRELOAD", "CMAKE_PREFIX_PATH"):
            env.pop(name, None)
        run(["cmake", "--install", args.build, "--prefix", prefix], env)
        # An installed tree may be moved.
        moved = prefix + "-moved"
        os.rename(prefix, moved)
        installed = [os.path.join(moved, "include/rollcall/rollcall.h"),
                     *(os.path.join(moved, "lib/rollcall/python/rollcall", name)
                       for name in ("__init__.py", "__main__.py", "pytest_plugin.py"))]
        missing = [path for path in installed if not os.path.isfile(path)]
        if missing:
            sys.exit("not installed: %s" % missing)
        env["PATH"] = os.path.join(moved, "bin") + os.pathsep + env["PATH"]
        run(["cmake", "-S", project, "-B", build, "-DCMAKE_PREFIX_PATH=" + moved,
             "-DMPI_C_COMPILER=" + args.mpicc, "-DMPIEXEC_EXECUTABLE=" + args.mpirun,
             "-DMPIEXEC_PREFLAGS=--oversubscribe"], env)
        run(["cmake", "--build", build], env)
        out = run(["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error"], env)
        if "100% tests passed, 0 tests failed out of 4" not in out:
            sys.exit("not four tests passed:\n" + out)
        # The test that has to fail must fail with the expected finding.
        with open(os.path.join(build, "broken.json"), encoding="utf-8") as file:
            findings = json.load(file)["findings"]
        culprits = [line["line"] for finding in findings for line in finding["lines"]
                    if line["role"] == "culprit"]
        if [finding["kind"] for finding in findings] != ["rank-conditional-collective"] or culprits != [culprit_line()]:
            sys.exit("wrong finding: %s" % json.dumps(findings, indent=1))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
