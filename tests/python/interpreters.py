# SPDX-License-Identifier: Apache-2.0
"""Prints the Python interpreters of this machine for tests/python.cmake, one `VERSION;PATH` per line.

Searches PATH, the directories of the system, and pyenv. Lists one interpreter per version and prefix."""
import glob
import os
import re
import subprocess
import sys


def candidates():
    directories = os.environ.get("PATH", "").split(os.pathsep) + ["/usr/local/bin", "/usr/bin"]
    for directory in directories:
        yield from sorted(glob.glob(os.path.join(directory, "python3*")))
    for root in {os.environ.get("PYENV_ROOT", ""), os.path.expanduser("~/.pyenv")} - {""}:
        yield from sorted(glob.glob(os.path.join(root, "versions", "*", "bin", "python3*")))


def main():
    code = ("import sys;"
            "print('%d.%d;%s;%s' % (sys.version_info[0], sys.version_info[1], sys.executable, sys.prefix))")
    seen = set()
    for path in candidates():
        if not re.fullmatch(r"python3(\.\d+)?", os.path.basename(path)):
            continue
        if os.path.join("", "shims", "") in path:  # pyenv's wrappers, not interpreters
            continue
        try:
            done = subprocess.run([path, "-S", "-c", code], capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode != 0 or done.stdout.count(";") != 2:
            continue
        version, executable, prefix = done.stdout.strip().split(";")
        if (version, prefix) not in seen:
            seen.add((version, prefix))
            print("%s;%s" % (version, executable))


if __name__ == "__main__":
    sys.exit(main())
