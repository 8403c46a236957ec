#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what librollcall.so and librollcall-steer.so export, which libraries they need, and what they keep in static
TLS; and that rollcall-exec needs only the intended libraries.

A library that is preloaded into user programs must not export or need unintended symbols.
"""

import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(1, os.path.join(HERE, "..", "jobs"))

import wrapped  # noqa: E402


# Exported in addition to the wrappers: shim/exit_marks.cc, shim/terminate.cc, shim/stack/dlclose_wrap.cc,
# shim/nccl/dlsym_wrap.cc, shim/user_phase.cc, shim/recorded_values.cc, shim/nccl/profiler.cc.
OTHER_EXPORTS = {"exit", "_exit", "_Exit", "abort", "dlclose", "dlsym", "rollcall_elements", "rollcall_phase",
                 "rollcall_replica", "rollcall_value", "MPIR_Err_return_comm", "MPIR_Err_return_win"}
OTHER_EXPORTS |= {"ncclProfiler_v%d" % n for n in range(1, 8)}
# libdl and libpthread are empty since glibc 2.34. A library linked with an older one, as in packages, needs them.
PARTS_OF_LIBC = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
# The oldest version of the C library that the binary runs with, from the versions of its symbols.
GLIBC_FLOOR = (2, 34)
STATIC_TLS_BYTES = 512
# Functions that a recorder must not use: each would be visible in the user's process, or depends on its caller.
FORBIDDEN = {
    "system": "starts a process", "popen": "starts a process", "fork": "starts a process",
    "execve": "starts a process", "posix_spawn": "starts a process", "pthread_create": "starts a thread",
    "signal": "takes a handler", "sigaction": "takes a handler", "setitimer": "takes a timer",
    "setenv": "changes the environment", "putenv": "changes the environment",
    "printf": "writes to stdout", "puts": "writes to stdout", "putchar": "writes to stdout",
    "chdir": "changes the process", "umask": "changes the process", "setrlimit": "changes the process",
    "__cxa_throw": "throws", "__cxa_allocate_exception": "throws", "_Unwind_RaiseException": "throws",
    "__tls_get_addr": "TLS that may allocate, and the dynamic loader in NEEDED",
    "_dl_find_object": "needs glibc 2.35, and the dynamic loader in NEEDED: ask dlsym",
}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def expected_wrappers():
    """Returns the names of all wrappers, from the tables of proto/."""
    def table(name):
        with open(os.path.join(ROOT, "proto", name), encoding="utf-8") as file:
            return file.read()

    names = {prefix + name for name in wrapped.functions() for prefix in ("", "P")}
    names |= set(re.findall(r"^CUDA\(\d+, (\w+),", table("cuda_functions.def"), re.M))
    names |= set(re.findall(r"^CUDA_FORM\((\w+),", table("cuda_forms.def"), re.M))
    for name in re.findall(r"^NCCL(?:_FORM)?\((?:\d+, )?(\w+),", table("nccl_functions.def"), re.M):
        names |= {"nccl" + name, "pnccl" + name}
    return names


def check_exports(library, problems):
    # tests/torch/symbols.py compares those of c10d.
    exported = {name for name in wrapped.symbols(library, "--defined-only") if not name.startswith("_ZN4c10d")}
    wanted = expected_wrappers() | OTHER_EXPORTS
    for name in sorted(exported - wanted):
        problems.append("exports %s, which is no wrapper" % name)
    for name in sorted(wanted - exported):
        problems.append("does not export %s" % name)
    return len(exported)


def check_steering_exports(library, problems):
    """librollcall.so finds the MPI library by PMPI_Init, and the MPI library's facts by its queries."""
    exported = wrapped.symbols(library, "--defined-only")
    for name in sorted(exported - {prefix + name for name in wrapped.functions() for prefix in ("", "P")}):
        problems.append("%s exports %s, which is no function of MPI" % (library, name))
    for name in ("PMPI_Init", "PMPI_Init_thread", "PMPI_Comm_rank", "PMPI_Iprobe", "PMPI_Request_get_status"):
        if name in exported:
            problems.append("%s exports %s, which must be the MPI library's" % (library, name))
    for name in ("MPI_Send", "PMPI_Send", "MPI_Isend_c", "PMPI_Bcast", "MPI_Waitany", "MPI_Init"):
        if name not in exported:
            problems.append("%s does not export %s" % (library, name))
    return len(exported)


def needed_by(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", file))


# rollcall-exec starts every rank: loading gRPC would cost each rank about 20 ms of CPU time.
def check_exec(program, problems):
    for name in needed_by(program):
        if re.match(r"lib(grpc|protobuf|absl)", name):
            problems.append("%s NEEDs %s" % (program, name))


def check_needed(library, problems):
    needed = needed_by(library)
    for name in needed:
        if name not in PARTS_OF_LIBC:
            problems.append("NEEDs %s" % name)
    return needed


def check_imports(library, problems):
    floor, floor_symbol = (0, 0), ""
    for line in output("objdump", "-T", library).splitlines():
        if "*UND*" not in line:
            continue
        name = line.split()[-1]
        version = re.search(r"GLIBC_(\d+)\.(\d+)", line)
        if version and tuple(map(int, version.groups())) > floor:
            floor, floor_symbol = tuple(map(int, version.groups())), name
        if name in FORBIDDEN:
            problems.append("calls %s: %s" % (name, FORBIDDEN[name]))
    if floor > GLIBC_FLOOR:
        problems.append("needs glibc %d.%d for %s" % (*floor, floor_symbol))
    return "%d.%d (%s)" % (*floor, floor_symbol)


def check_segments(library, problems):
    tls = 0
    headers = output("readelf", "-lW", library)
    for line in headers.splitlines():
        words = line.split()
        if words and words[0] == "TLS":
            tls = int(words[5], 16)
        if words and words[0] == "GNU_STACK" and "E" in words[6]:
            problems.append("asks for an executable stack")
    if tls > STATIC_TLS_BYTES:
        problems.append("%d bytes of static TLS" % tls)
    dynamic = output("readelf", "-dW", library)
    if "TEXTREL" in dynamic:
        problems.append("has text relocations")
    if "BIND_NOW" not in dynamic and "NOW" not in dynamic:
        problems.append("binds lazily: the first call would run the dynamic loader")
    if re.search(r"RPATH|RUNPATH", dynamic):
        problems.append("has a run path")
    return tls


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shim", required=True, help="librollcall.so")
    parser.add_argument("--steer", required=True, help="librollcall-steer.so")
    parser.add_argument("--exec", required=True, help="rollcall-exec")
    args = parser.parse_args()
    problems = []
    check_exec(args.exec, problems)
    print("exports %d symbols" % check_exports(args.shim, problems))
    print("exports %d symbols for steering" % check_steering_exports(args.steer, problems))
    for library in (args.shim, args.steer):
        print(os.path.basename(library))
        print("needs %s" % ", ".join(check_needed(library, problems)))
        print("glibc floor %s" % check_imports(library, problems))
        print("static TLS %d bytes" % check_segments(library, problems))
    for problem in problems:
        print("FAILED: %s" % problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
