#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the recipes of docs/recipes with the build that they describe: check_recipes.py ROOT.

They are parsed, not run: Spack and conda are not in Debian. Each must have the version of CMakeLists.txt, the Spack
recipe its libraries, and the Containerfile and conda's recipe the name of the tarball of scripts/package. The images
that the pages name have the version, too.
"""

import ast
import fnmatch
import os
import re
import sys

import yaml

# What CMakeLists.txt searches for, and Spack's name of it.
SPACK = {"PkgConfig": "pkgconfig", "Protobuf": "protobuf", "OpenSSL": "openssl", "fmt": "fmt", "gRPC": "grpc",
         "nlohmann_json": "nlohmann-json", "CLI11": "cli11", "libdw": "elfutils", "libelf": "elfutils",
         "libarchive": "libarchive", "libzstd": "zstd", "libevent": "libevent", "libunwind": "libunwind",
         "ncursesw": "ncurses"}


def main():
    root = sys.argv[1]

    def read(name):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            return file.read()

    cmake = read("CMakeLists.txt")
    version = re.search(r"project\(rollcall VERSION (\S+)", cmake).group(1)
    wanted = set(re.findall(r"^ *find_package\((\w+)", cmake, re.MULTILINE)) - {"Threads"}
    for names in re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET ([^)]*)\)", cmake):
        wanted |= {name.split("-")[0] for name in names.split()}
    tarball = "rollcall-%s-linux-x86_64.tar.gz" % version
    problems = []

    spack = "docs/recipes/spack/package.py"
    calls = [node for node in ast.walk(ast.parse(read(spack), spack)) if isinstance(node, ast.Call)]
    first = {}  # the first argument of each call, by the function's name
    for call in calls:
        if isinstance(call.func, ast.Name) and call.args and isinstance(call.args[0], ast.Constant):
            first.setdefault(call.func.id, set()).add(call.args[0].value)
    if first["version"] != {version}:
        problems.append("%s: the version is %s" % (spack, version))
    depends = {re.split(r"[@ ]", text)[0] for text in first["depends_on"]}
    for name in sorted(wanted):
        if SPACK.get(name) not in depends:
            problems.append("%s: lacks %s, which CMakeLists.txt searches for" % (spack, name))

    conda = "docs/recipes/conda/meta.yaml"
    text = read(conda)
    if '{%% set version = "%s" %%}' % version not in text:
        problems.append("%s: the version is %s" % (conda, version))
    rendered = re.sub(r"{%.*?%}", "", text).replace("{{ version }}", version).replace("{{ RECIPE_DIR }}", "")
    if os.path.basename(yaml.safe_load(rendered)["source"]["url"]) != tarball:
        problems.append("%s: the tarball is %s" % (conda, tarball))

    for page in ("docs/kubernetes.yaml", "docs/launchers.md"):
        images = set(re.findall(r"registry\.example\.com/rollcall:(\S+)", read(page)))
        if images != {version}:
            problems.append("%s: the version of the image is %s" % (page, version))

    container = "docs/recipes/Containerfile"
    added = re.findall(r"^ADD (\S+) ", read(container), re.MULTILINE)
    if len(added) != 1 or not fnmatch.fnmatch(tarball, added[0]):
        problems.append("%s: the tarball is %s" % (container, tarball))

    print("\n".join(problems) or "the recipes agree with CMakeLists.txt")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
