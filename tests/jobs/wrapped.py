"""The MPI functions that the shim wraps, read from the one list of them, proto/functions.def."""

import os
import re
import subprocess

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto")


def table():
    """Its rows: name, kind, LARGE or SMALL, "_MPIX" or nothing."""
    with open(os.path.join(PROTO, "functions.def"), encoding="utf-8") as file:
        return re.findall(r"^FUNCTION\(\d+, (\w+), (\w+), \w+, (SMALL|LARGE)(_MPIX)?\b",
                          file.read(), re.M)


def functions():
    """By the names that programs use; each has a control with a P before it."""
    for name, _, large, extension in table():
        yield "MPI_" + name
        if large == "LARGE":
            yield "MPI_" + name + "_c"
        if extension:
            yield "MPIX_" + name


def symbols(file, *options):
    """Names in the dynamic symbol table of a binary, without versions; `options` of nm choose."""
    out = subprocess.run(["nm", "-D", *options, file], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in out.stdout.splitlines()}
