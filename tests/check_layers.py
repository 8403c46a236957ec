#!/usr/bin/env python3
"""Checks that every #include follows the direction of dependency: check_layers.py ROOT LAYERS.

LAYERS has a line "NAME: NAME..." for each directory of collector/, as the table in CMakeLists.txt has them.
"""

import glob
import os
import re
import sys

# The directories at the top: what each may include besides itself. The collector's have lines of LAYERS.
TOP = {"proto": (), "shim": ("proto",), "collector": ("proto",), "cli": ("proto", "collector")}


def room(path):
    """collector/NAME of what is below collector, else the first part."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "collector" else parts[0]


def main():
    root, table = sys.argv[1:]
    allowed = {top: {top, *others} for top, others in TOP.items()}
    with open(table, encoding="utf-8") as file:
        for line in file:
            name, _, links = line.partition(":")
            allowed["collector/" + name] = {"proto", *("collector/" + link for link in [name, *links.split()])}
    wrong = []
    for top in TOP:
        for path in sorted(glob.glob("%s/%s/**/*.*" % (root, top), recursive=True)):
            if not path.endswith((".cc", ".h", ".def")):
                continue
            inside = os.path.relpath(path, root)
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    included = re.match(r'#include "([^"]+)"', line)
                    if not included:
                        continue
                    # cli may include any layer; a folder without a line in the table, nothing.
                    target = room(included[1])
                    if not {target, target.split("/")[0]} & allowed.get(room(inside), set()):
                        wrong.append("%s:%d: %s may not include %s" % (inside, number, room(inside), included[1]))
    print("\n".join(wrong) or "every #include follows the table")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
