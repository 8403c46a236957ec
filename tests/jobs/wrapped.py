# SPDX-License-Identifier: Apache-2.0
"""The MPI functions that the shim wraps, read from proto/functions.def."""

import os
import re
import subprocess

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto")


def table():
    """Returns the rows of proto/functions.def: name, kind, LARGE or SMALL, "_MPIX" or nothing."""
    with open(os.path.join(PROTO, "functions.def"), encoding="utf-8") as file:
        return re.findall(r"^FUNCTION\(\d+, (\w+), (\w+), \w+, (SMALL|LARGE)(_MPIX)?\b",
                          file.read(), re.M)


def functions():
    """Yields the names that programs call; each function also has a name with the prefix P."""
    for name, _, large, extension in table():
        yield "MPI_" + name
        if large == "LARGE":
            yield "MPI_" + name + "_c"
        if extension:
            yield "MPIX_" + name


def symbols(file, *options):
    """Returns the names in the dynamic symbol table of a binary, without versions, selected by `options` of nm."""
    out = subprocess.run(["nm", "-D", *options, file], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in out.stdout.splitlines()}
