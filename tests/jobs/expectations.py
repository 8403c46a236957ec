# SPDX-License-Identifier: Apache-2.0
"""Reads the header comment of a fault program: how to start it, and what rollcall must report.

    // rollcall-test: name=survivors ranks=4 outcome=hung          starts a variant of the test
    // launcher[openmpi]: --enable-recovery                        further arguments of the launcher
    // arguments: 12                                               arguments of the program
    // expect: kind=rank-died culprits=2 waiting=0,1,3 op=MPI_Barrier seq=3 certainty=proven
    // expect+[mpich]: waiting=any                                 changes to the last expect, for one MPI

A key, too, may end in [openmpi] or [mpich]. `expect: none` is for true negatives, which must have no finding; several
`expect:` lines are several findings. Lines are found by the markers @culprit and @waiting at their ends.

Keys of rollcall-test:
  name        distinguishes variants; none is needed for one
  ranks       number of ranks
  outcome     how the faulty job ends without rollcall: hung, finished (exit code 0) or failed
  exit        exit code of the healthy job; 0 if not given
  stall-after value for --stall-after
  mpi         openmpi or mpich: runs under this one only
  also        value for analyze --also: these findings are expected, and none from the live run
  check       options of `rollcall check`, which is tested instead of `run` and `analyze`: for findings
              that only it makes; "check=" for no options
  data        value for --data, of `run` or `check`; for the faulty and the healthy job
  preload     NAME of a source NAME.c beside this one: the faulty job has the library that CMake makes of it in
              LD_PRELOAD, behind rollcall's; the healthy job does not
  gpu         value for ROLLCALL_GPU
  repeat      maximum number of runs of the healthy job, whatever --repeat specifies
  survives    yes: the launcher does not end when its ranks are killed, so that this is not tested
  kill        yes: the test of --on-hang=kill is run in the short form of the tests, too
Keys of expect:
  kind, op, seq   as in the verdict; `any` compares nothing
  culprits, waiting   ranks: 0,2-4; `none` for no rank; `any` compares nothing
  comm, comm!     the communicator's name is, or is not, this one
  certainty       allowed values, separated by commas
  analyze-certainty   the same for the verdict from the run directory, where it may be lower
  attach-kind         the kind that `rollcall attach` has to name, if it differs
  attach-culprits     the ranks that `rollcall attach` has to name, if they differ: it has no recorded calls of
              the ranks
  lines           both (default), culprit, or none: which marked lines are compared
  values          values of rollcall_value() that differ: NAME:CULPRIT/OTHERS, separated by commas; exactly these
  function@waiting, function@culprit   name of the function that holds the line
"""

import re
import shlex
import sys

# No MPI at all: fork for tests/faults/nccl, torch for tests/faults/torch.
MPIS = ("openmpi", "mpich", "fork", "torch")
_DIRECTIVE = re.compile(
    r"^\s*(?://|!|#)\s*(rollcall-test|launcher|arguments|expect\+?)(?:\[(\w+)\])?:\s*(.*?)\s*$")
_MARKER = re.compile(r"@(culprit|waiting)\b")


class HeaderError(Exception):
    """The header comment is invalid."""


class Variant:
    """One way to start the program, and the findings expected of it under one MPI."""

    def __init__(self, keys):
        self.name = keys.pop("name", "")
        self.ranks = int(keys.pop("ranks"))
        self.outcome = keys.pop("outcome", "finished")
        self.exit_code = int(keys.pop("exit", "0"))
        self.stall_after = keys.pop("stall-after", None)
        self.mpi = keys.pop("mpi", None)
        self.also = keys.pop("also", None)
        check = keys.pop("check", None)
        self.check = None if check is None else shlex.split(check)
        self.data = keys.pop("data", None)
        self.preload = keys.pop("preload", None)
        self.gpu = keys.pop("gpu", None)
        self.repeat = int(keys.pop("repeat", sys.maxsize))
        self.survives = keys.pop("survives", "no") == "yes"
        self.kill = keys.pop("kill", "no") == "yes"
        self.launcher_args = []
        self.program_args = []
        self.findings = []
        if keys:
            raise HeaderError("unknown keys: " + " ".join(keys))
        if self.outcome not in ("hung", "finished", "failed"):
            raise HeaderError("unknown outcome: " + self.outcome)


def parse_ranks(text):
    """Returns '0,2-4' as a sorted list; None if nothing is compared."""
    if text == "any":
        return None
    ranks = []
    for part in [] if text == "none" else text.split(","):
        first, _, last = part.partition("-")
        ranks.extend(range(int(first), int(last or first) + 1))
    return sorted(ranks)


def _keys(text, mpi):
    """Returns key=value pairs, without those of other MPIs; those of this MPI take precedence."""
    plain, special = {}, {}
    for token in shlex.split(text):
        key, separator, value = token.partition("=")  # "comm!=X" has the key "comm!"
        if not separator:
            raise HeaderError("not key=value: " + token)
        match = re.match(r"^(.*)\[(\w+)\]$", key)
        if not match:
            plain[key] = value
        elif match.group(2) not in MPIS:
            raise HeaderError("unknown MPI: " + key)
        elif match.group(2) == mpi:
            special[match.group(1)] = value
    plain.update(special)
    return plain


def _finish(finding, lines):
    known = {"kind", "culprits", "waiting", "op", "seq", "comm", "comm!", "certainty",
             "analyze-certainty", "attach-culprits", "attach-kind", "lines", "function@waiting", "function@culprit",
             "values"}
    unknown = set(finding) - known
    missing = {"kind", "culprits", "waiting", "op", "seq", "certainty"} - set(finding)
    if unknown or missing:
        raise HeaderError("unknown or missing keys: " + " ".join(sorted(unknown | missing)))
    finding["culprits"] = parse_ranks(finding["culprits"])
    finding["waiting"] = parse_ranks(finding["waiting"])
    attached = finding.get("attach-culprits")
    finding["attach-culprits"] = parse_ranks(attached) if attached else finding["culprits"]
    finding["seq"] = None if finding["seq"] == "any" else int(finding["seq"])
    finding["certainty"] = finding["certainty"].split(",")
    later = finding.get("analyze-certainty")
    finding["analyze-certainty"] = later.split(",") if later else finding["certainty"]
    if "values" in finding:
        pairs = [value.split(":") for value in finding["values"].split(",")]
        finding["values"] = {name: values.split("/") for name, values in pairs}
    compared = finding.get("lines", "both")
    roles = {"both": ("culprit", "waiting"), "culprit": ("culprit",), "none": ()}[compared]
    finding["lines"] = {role: lines[role] for role in roles if lines[role]}
    return finding


def marked_lines(text):
    """Returns for each role the numbers of the lines with its marker."""
    lines = {"culprit": [], "waiting": []}
    for number, line in enumerate(text.splitlines(), 1):
        if not _DIRECTIVE.match(line):
            for role in _MARKER.findall(line):
                lines[role].append(number)
    return lines


def read(path, mpi):
    """Returns the variants that run under `mpi`, with complete findings."""
    with open(path, encoding="utf-8") as source:
        text = source.read()
    variants = []
    for line in text.splitlines():
        match = _DIRECTIVE.match(line)
        if not match:
            continue
        what, only, rest = match.groups()
        if only is not None and only not in MPIS:
            raise HeaderError("unknown MPI: " + only)
        if what == "rollcall-test":
            variants.append(Variant(_keys(rest, mpi)))
        elif not variants:
            raise HeaderError(what + " before rollcall-test")
        elif only is not None and only != mpi:
            continue
        elif what == "launcher":
            variants[-1].launcher_args += shlex.split(rest)
        elif what == "arguments":
            variants[-1].program_args += shlex.split(rest)
        elif what == "expect+":
            variants[-1].findings[-1].update(_keys(rest, mpi))
        elif rest != "none":
            variants[-1].findings.append(_keys(rest, mpi))
    if not variants:
        raise HeaderError("no rollcall-test line")
    lines = marked_lines(text)
    for variant in variants:
        variant.findings = [_finish(finding, lines) for finding in variant.findings]
    return [variant for variant in variants if variant.mpi in (None, mpi)]
