#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every #include follows the direction of dependency: check_layers.py ROOT LAYERS.

LAYERS has a line "NAME: NAME..." for each directory of collector/, from the table in CMakeLists.txt.
"""

import glob
import os
import re
import sys

# The top directories, and what each may include besides itself. LAYERS lists the directories of the collector.
TOP = {"proto": (), "shim": ("proto",), "collector": ("proto",), "cli": ("proto", "collector")}


def folders(path):
    """Returns all directories that contain the path, innermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]


def main():
    root, table = sys.argv[1:]
    allowed = {top: {top, *others} for top, others in TOP.items()}
    with open(table, encoding="utf-8") as file:
        for line in file:
            name, _, links = line.partition(":")
            allowed["collector/" + name] = {"proto", *("collector/" + link for link in [name, *links.split()])}
    allowed["collector"] = set()  # files outside all layers
    wrong = []
    for top in TOP:
        for path in sorted(glob.glob("%s/%s/**/*.*" % (root, top), recursive=True)):
            if not path.endswith((".cc", ".h", ".def")):
                continue
            inside = os.path.relpath(path, root)
            layer = next((folder for folder in folders(inside) if folder in allowed), top)
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    included = re.match(r'#include "([^"]+)"', line)
                    if not included:
                        continue
                    # A permitted layer also permits the directories below it.
                    if not set(folders(included[1])) & allowed[layer]:
                        wrong.append("%s:%d: %s may not include %s" % (inside, number, layer, included[1]))
    print("\n".join(wrong) or "every #include follows the table")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
