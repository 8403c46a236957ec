#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the table of docs/nccl.md: a small program for each way to bind NCCL, run with and without librollcall.so.

Output and exit code must be the same, and each call must be recorded once. In each case NCCL also loads
librollcall.so as its profiler, which must add nothing if the functions are wrapped.

Cases: linked, local, underlinked, dlopened, deep, ctypes; static: linked statically, so that only the profiler's events
are recorded; plugin: the same without any preload; hang: `rollcall run` finds the hang of a ctypes job without any
setting; real: the installed libnccl.so.2, which fails without a GPU in the same way, and whose calls are recorded."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = 2
SKIPPED = 77
CALLS = {"ncclCommInitRank": 1, "ncclAllReduce": 1, "ncclCommDestroy": 1, "cudaStreamSynchronize": 1}
EXPECTED = {
    # ncclBcast is recorded as ncclBroadcast, which the library calls for it.
    "linked": dict(CALLS, ncclBroadcast=1),
    "local": dict(CALLS, ncclCommSplit=1, ncclCommDestroy=2),
    "underlinked": dict(CALLS, ncclCommSplit=1, ncclCommDestroy=2),
    "dlopened": CALLS,
    "deep": CALLS,
    "ctypes": dict(CALLS, ncclAllReduce=2, cudaStreamSynchronize=2),
}
# From NCCL's profiler events: only operations.
EXPECTED["static"] = {"ncclAllReduce": 1, "ncclBroadcast": 1, "cudaStreamSynchronize": 1}
EXPECTED["plugin"] = {"ncclAllReduce": 1, "ncclBroadcast": 1}
REAL = """
import ctypes, os, sys
class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]
nccl = ctypes.CDLL(sys.argv[1])
nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
unique, comm = Id(), ctypes.c_void_p()
print("id", nccl.ncclGetUniqueId(ctypes.byref(unique)))
print("init", nccl.ncclCommInitRank(ctypes.byref(comm), 1, unique, 0), flush=True)
"""


class Failure(Exception):
    pass


def command(args, case):
    nccl = os.path.join(args.libraries, "libnccl.so.2")
    cuda = os.path.join(args.libraries, "libcudart.so.12")
    if case == "linked":
        return [os.path.join(args.libraries, "binding_linked")]
    if case in ("static", "plugin"):
        return [os.path.join(args.libraries, "binding_static")]
    if case in ("local", "underlinked"):
        plugin = "binding_plugin.so" if case == "local" else "binding_root.so"
        return [os.path.join(args.libraries, name) for name in ("binding_local", plugin)]
    if case in ("dlopened", "deep"):
        return [os.path.join(args.libraries, "binding_dlopened"), nccl, cuda, case]
    return [sys.executable, os.path.join(HERE, "bindings", "ctypes_job.py"), nccl, cuda]


def launched(args, what):
    return [os.path.join(args.libraries, "fork_launcher"), "-n", str(RANKS)] + what


def run(what, **environment):
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **environment)
    done = subprocess.run(what, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def compare(args, what, directory, preload=True):
    """Compares the end of the program with and without librollcall.so; returns the records by process."""
    bare = run(what)
    preloaded = {"LD_PRELOAD": args.shim} if preload else {}
    traced = run(what, ROLLCALL_DIR=directory, NCCL_PROFILER_PLUGIN=args.shim, **preloaded)
    if bare[:2] != traced[:2]:
        raise Failure("not the same: %s without, %s with librollcall.so" % (bare, traced))
    summary = run([args.summary, directory])[1]
    return bare, [json.loads(line) for line in summary.splitlines()]


def test_binding(args, case, directory):
    bare, rings = compare(args, launched(args, command(args, case)), directory, preload=case != "plugin")
    if bare[0] != 0:
        raise Failure("failed by itself: %s" % (bare,))
    if len(rings) != RANKS:
        raise Failure("%d of %d processes are on record" % (len(rings), RANKS))
    for ring in rings:
        made = 2 if "ncclCommSplit" in EXPECTED[case] else 1
        if (ring["calls"] != EXPECTED[case] or ring["errors_seen"] != 0
                or ring["communicators"] != made):
            raise Failure("on record: %s" % ring)


def test_hang(args, directory):
    path = os.path.join(directory, "verdict.json")
    what = [args.rollcall, "run", "--on-hang=kill", "--kill-after", "1", "--json", path, "--dir",
            os.path.join(directory, "run"), "--"] + launched(args, command(args, "ctypes") + ["--fault"])
    code, out, err = run(what)
    with open(path, encoding="utf-8") as file:
        findings = json.load(file)["findings"]
    found = [(f["culprits"], f["operation"], f["sequence"]) for f in findings]
    if code != 86 or found != [([RANKS - 1], "ncclAllReduce", 2)]:
        raise Failure("code %d, %s\n%s%s" % (code, found, out, err))
    lines = [line["file"] for line in findings[0]["lines"]]
    if not any(file and file.endswith("ctypes_job.py") for file in lines):
        raise Failure("no line of the job's: %s" % lines)


def test_real(args, directory):
    if not args.real:
        print("no libnccl.so.2 is installed")
        sys.exit(SKIPPED)
    bare, rings = compare(args, [sys.executable, "-c", REAL, args.real], directory)
    print(bare[1], end="")
    if "init 0\n" in bare[1]:
        return  # there is a GPU
    if len(rings) != 1 or rings[0]["calls"].get("ncclCommInitRank") != 1 or rings[0]["errors_seen"] != 1:
        raise Failure("on record: %s" % rings)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("shim", "summary", "rollcall", "libraries"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--real", help="a real libnccl.so.2")
    parser.add_argument("case", choices=[*EXPECTED, "hang", "real"])
    args = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="rollcall-test-", dir="/dev/shm")
    try:
        if args.case == "hang":
            test_hang(args, directory)
        elif args.case == "real":
            test_real(args, directory)
        else:
            test_binding(args, args.case, directory)
        print("ok")
        return 0
    except Failure as failure:
        print("FAIL %s: %s" % (args.case, failure))
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
