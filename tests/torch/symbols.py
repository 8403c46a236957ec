#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the functions of PyTorch that librollcall.so defines with PyTorch's own.

  symbols.py --shim LIBRARY     the test: against the lists in symbols/, and the PyTorch of --python
  symbols.py --update [TORCH]   writes the list of that PyTorch (the directory torch/), default: of --python

A preloaded definition is called only if PyTorch reaches the function through a relocation that names it. The list of a
version has a line per function, with how it is reached:

  vtable:CLASS   a library has its address in the vtable of that class, by a relocation with the function's name
  plt, got       a library calls it, or takes its address, through the linkage table
  python         libtorch_python.so refers to it
  -              by nothing: a definition elsewhere has no effect

The libraries are libtorch_cpu.so and libtorch_cuda.so. The list of a PyTorch that has the latter is VERSION-cuda.txt.
headers.txt is written by hand: functions that headers declare in versions of which no library was at hand.
"""

import argparse
import bisect
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LISTS = os.path.join(HERE, "symbols")
PREFIX = "_ZN4c10d"
BACKENDS = ("16ProcessGroupGloo", "15ProcessGroupMPI", "16ProcessGroupNCCL", "15ProcessGroupUCC", "16ProcessGroupXCCL")
LIBRARIES = ("libtorch_cpu", "libtorch_cuda")
# Whose vtables are listed: the backends that rollcall wraps, and what they return.
CLASSES = tuple("N4c10d%sE" % name for name in BACKENDS) + (
    "N4c10d4WorkE", "N4c10d16ProcessGroupGloo9AsyncWorkE", "N4c10d16ProcessGroupGloo8SendWorkE",
    "N4c10d16ProcessGroupGloo8RecvWorkE", "N4c10d15ProcessGroupMPI8WorkMPIE", "N4c10d15ProcessGroupMPI9AsyncWorkE",
    "N4c10d16ProcessGroupNCCL8WorkNCCLE",
    "N4c10d8TCPStoreE", "N4c10d9FileStoreE")
# Functions outside of vtables: constructors with all their overloads, base classes' ends, and what is wrapped besides.
OTHERS = re.compile(
    PREFIX + r"(?:(?:4Work|11PrefixStore|1[56]ProcessGroup(?:Gloo|MPI|NCCL|UCC|XCCL))C[12]E"
    r"|(?:4Work|7Backend|12ProcessGroup)D2Ev$"
    r"|4Work(?:6finish|14finishAndThrow)E"
    r"|8TCPStoreC[12]E"
    r"|15ProcessGroupMPI21createProcessGroupMPIE"
    r"|7Reducer(?:17all_reduce_bucket|20prepare_for_backward|17finalize_backward)E)")
# Virtual functions of the backends that are not wrapped, and why.
NOT_WRAPPED = {
    "D0Ev": "the destructor: the base class's is wrapped",
    "D1Ev": "the destructor: the base class's is wrapped",
    "25setSequenceNumberForGroupEv": "PyTorch's own numbers; exchanges nothing with other ranks by itself",
    "25getSequenceNumberForGroupEv": "PyTorch's own numbers; no communication",
    "23enableCollectivesTimingEv": "a switch of this process",
    "15startCoalescingEv": "calls ncclGroupStart, which is recorded",
    "13endCoalescingEv": "calls ncclGroupEnd, which is recorded",
    "24registerOnCompletionHookEOSt8functionIFvSt10shared_ptrINS_8WorkInfoEEEE": "no communication",
    "19waitForPendingWorksEv": "waits for the hooks of this process",
    "24eagerConnectSingleDeviceEN3c106DeviceE": "calls ncclCommInitRank, which is recorded",
    "18checkForNCCLErrorsERSt10shared_ptrINS_8NCCLCommEE": "asks NCCL for errors",
    "8initWorkERN3c106DeviceEiNS_6OpTypeEbPKcRKSt6vectorIN2at6TensorESaIS9_EESD_b": "makes a Work",
    "16terminateProcessERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE": "ends the process",
    "16heartbeatMonitorEv": "a thread of PyTorch",
}
# Wrapped, because proto/torch_functions.def gives every backend every operation, but in none of the listed versions:
# the base class's is called instead, which raises an exception.
NOWHERE = {
    "15ProcessGroupMPI16allreduce_sparse", "15ProcessGroupMPI20_reduce_scatter_base",
    "15ProcessGroupMPI31allgather_into_tensor_coalesced", "15ProcessGroupMPI31reduce_scatter_tensor_coalesced",
    "16ProcessGroupGloo8alltoall", "15ProcessGroupUCC16allreduce_sparse", "15ProcessGroupUCC20_reduce_scatter_base",
    "15ProcessGroupUCC19allgather_coalesced", "15ProcessGroupUCC31allgather_into_tensor_coalesced",
    "15ProcessGroupUCC31reduce_scatter_tensor_coalesced", "15ProcessGroupUCC13recvAnysource"}
# Relocation types by what they are for, x86-64 and AArch64.
ADDRESS, PLT, GOT = ("R_X86_64_64", "R_AARCH64_ABS64"), ("JUMP_SLO",), ("GLOB_DAT",)


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def dynamic_symbols(library):
    """Name: (defined, value, size) of the dynamic symbols of c10d, vtables included."""
    found = {}
    for line in output("readelf", "--dyn-syms", "-W", library).splitlines():
        words = line.split()
        if len(words) < 8 or "N4c10d" not in words[7]:
            continue
        found[words[7].split("@")[0]] = (words[6] != "UND", int(words[1], 16), int(words[2], 0))
    return found


def relocations(library):
    """(name, type, offset) of those that name a symbol of c10d."""
    for line in output("readelf", "-rW", library).splitlines():
        words = line.split()
        if len(words) >= 5 and words[4].startswith(PREFIX):
            yield words[4].split("@")[0], words[2], int(words[0], 16)


def libraries_of(torch):
    core = os.path.realpath(os.path.join(torch, "lib", LIBRARIES[0] + ".so"))
    paths = [core.replace(LIBRARIES[0], name) for name in LIBRARIES]
    return [path for path in paths if os.path.exists(path)]


def describe(torch):
    """Function: set of the ways in which it is reached, for the PyTorch in that directory."""
    python = os.path.realpath(os.path.join(torch, "lib", "libtorch_python.so"))
    undefined = {name for name, (defined, _, _) in dynamic_symbols(python).items() if not defined}
    functions = {}
    for library in libraries_of(torch):
        for name, ways in describe_library(library).items():
            functions.setdefault(name, set()).update(ways)
    defined = {name for library in libraries_of(torch)
               for name, (is_here, _, _) in dynamic_symbols(library).items() if is_here and name.startswith(PREFIX)}
    for name in undefined & set(functions):
        functions[name].add("python")
    return {name: ways for name, ways in functions.items() if name in defined}


def describe_library(core):
    symbols = dynamic_symbols(core)
    tables = sorted((value, size, name[4:]) for name, (defined, value, size) in symbols.items()
                    if defined and name.startswith("_ZTV"))
    starts = [value for value, _, _ in tables]

    def table_at(offset):
        index = bisect.bisect_right(starts, offset) - 1
        if index < 0 or offset >= tables[index][0] + tables[index][1]:
            return ""
        return tables[index][2]

    ways = {}
    for name, kind, offset in relocations(core):
        if kind in ADDRESS:
            if table_at(offset) in CLASSES:
                ways.setdefault(name, set()).add("vtable:" + class_name(table_at(offset)))
        elif any(word in kind for word in PLT + GOT):
            ways.setdefault(name, set()).add("plt" if PLT[0] in kind else "got")
    return {name: ways.get(name, set()) for name in symbols if name.startswith(PREFIX)
            and (OTHERS.match(name) or any(way.startswith("vtable:") for way in ways.get(name, ())))}


def class_name(mangled):
    """ProcessGroupGloo::SendWork of N4c10d16ProcessGroupGloo8SendWorkE."""
    names, rest = [], mangled[1:-1]
    while rest:
        length = re.match(r"\d+", rest).group()
        names.append(rest[len(length):][:int(length)])
        rest = rest[len(length) + int(length):]
    return "::".join(names[1:])


def torch_of(python):
    """Version and directory of an interpreter's PyTorch; none without importing it: that takes seconds."""
    code = ("import importlib.util as u; s = u.find_spec('torch'); "
            "print(s.submodule_search_locations[0] if s else '')")
    torch = output(python, "-c", code).strip()
    return (version_of(torch), torch) if torch else (None, None)


def version_of(torch):
    with open(os.path.join(torch, "version.py"), encoding="utf-8") as file:
        version = re.search(r"^__version__ = '(\d+\.\d+)", file.read(), re.M).group(1)
    return version + ("-cuda" if len(libraries_of(torch)) > 1 else "")


def read_list(path):
    listed = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and not line.startswith("#"):
                listed[words[0]] = set(words[1:]) - {"-"}
    return listed


def write_list(version, functions):
    os.makedirs(LISTS, exist_ok=True)
    with open(os.path.join(LISTS, version + ".txt"), "w", encoding="utf-8") as file:
        file.write("# PyTorch %s: functions of c10d, and how they are reached. Made by ../symbols.py --update.\n" % version)
        for name in sorted(functions):
            file.write("%s %s\n" % (name, " ".join(sorted(functions[name])) or "-"))


def exports(library):
    return {name for name, (defined, _, _) in dynamic_symbols(library).items() if defined and name.startswith(PREFIX)}


def compare(exported, versions):
    """What is wrong, as lines. `versions`: name of a version: its functions."""
    problems = []
    for name in sorted(exported):
        known = {version: functions[name] for version, functions in versions.items() if name in functions}
        if name[len(PREFIX):].split("ERSt6vector")[0].split("ERN2at")[0] in NOWHERE:
            if known:
                problems.append("%s: PyTorch %s has it; remove it from NOWHERE" % (name, ", ".join(sorted(known))))
        elif not known:
            problems.append("%s: no PyTorch has this function" % name)
        elif not any(known.values()):
            problems.append("%s: no PyTorch reaches it through a relocation: %s" % (name, ", ".join(sorted(known))))
    for version, functions in sorted(versions.items()):
        for name, ways in sorted(functions.items()):
            why = missing(name, ways)
            if why and name not in exported:
                problems.append("%s of PyTorch %s is not wrapped: %s" % (name, version, why))
    used = {name[len(PREFIX + backend):] for functions in versions.values() for name in functions
            for backend in BACKENDS if name.startswith(PREFIX + backend)}
    for name in sorted(set(NOT_WRAPPED) - used):
        problems.append("NOT_WRAPPED has %s, which no backend has" % name)
    return problems


def missing(name, ways):
    """Why a function has to be wrapped; empty if it need not be."""
    for backend in BACKENDS:
        if "vtable:" + backend.lstrip("0123456789") in ways and name.startswith(PREFIX + backend):
            return "" if name[len(PREFIX + backend):] in NOT_WRAPPED else "a backend's virtual function"
    if re.search(r"[a-zA-Z]4waitENSt6chrono", name) and any(way.startswith("vtable:") for way in ways):
        return "an override of Work::wait"
    if re.match(PREFIX + r"4WorkC2Ei", name) and ways:
        return "a constructor of Work"
    if re.match(PREFIX + r"11PrefixStoreC1E", name) and ways:
        return "a constructor of PrefixStore"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shim", metavar="LIBRARY", help="librollcall.so")
    parser.add_argument("--python", default="/usr/bin/python3", help="the interpreter whose PyTorch is compared")
    parser.add_argument("--update", nargs="?", const="", metavar="TORCH", help="write the list of this PyTorch")
    args = parser.parse_args()
    if args.update is not None:
        torch = args.update or torch_of(args.python)[1]
        write_list(version_of(torch), describe(torch))
        return 0
    versions = {name[:-4]: read_list(os.path.join(LISTS, name)) for name in sorted(os.listdir(LISTS))}
    problems = []
    version, torch = torch_of(args.python)
    if torch:
        here = describe(torch)
        listed = versions.get(version)
        if listed is not None and os.uname().machine == "x86_64":
            for name in sorted(set(here) ^ set(listed)):
                problems.append("%s: %s" % (name, "only in this PyTorch" if name in here else "only in the list"))
            problems += ["%s: reached by %s, listed is %s" % (name, sorted(here[name]), sorted(listed[name]))
                         for name in sorted(set(here) & set(listed)) if here[name] != listed[name]]
        versions.setdefault(version, here)
    exported = exports(args.shim)
    problems += compare(exported, versions)
    for problem in problems:
        print(problem)
    print("%s: %d functions of c10d; PyTorch %s; %s here" % (
        "FAILED" if problems else "passed", len(exported), ", ".join(sorted(versions)), version or "none"))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
