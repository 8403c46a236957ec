# SPDX-License-Identifier: Apache-2.0
"""Compares a JSON verdict (format rollcall-verdict, version 1) with what a test expects of it."""

import json
import os

FORMAT, VERSION = "rollcall-verdict", 1


class VerdictError(Exception):
    """The file is not a verdict of the supported format and version."""


def load(text):
    try:
        verdict = json.loads(text)
    except ValueError as error:
        raise VerdictError("not JSON: %s" % error) from error
    if (verdict.get("format"), verdict.get("version")) != (FORMAT, VERSION):
        raise VerdictError("not a %s of version %d" % (FORMAT, VERSION))
    return verdict


def facts(finding, source):
    """Returns the facts of a finding that are compared. Only this function depends on the fields of the JSON."""
    base = os.path.basename(source)
    lines = {"culprit": set(), "waiting": set()}
    functions = {"culprit": set(), "waiting": set()}
    for line in finding.get("lines", []):
        role = line.get("role")
        if role not in lines:
            continue
        ours = os.path.basename(line.get("file") or "") == base
        lines[role].add(line.get("line") if ours else (line.get("file"), line.get("line")))
        functions[role].add(line.get("function"))
    return {
        "kind": finding.get("kind"),
        "certainty": finding.get("certainty"),
        "culprits": sorted(finding.get("culprits", [])),
        "waiting": sorted(finding.get("waiting", [])),
        "comm": finding.get("communicator"),
        "op": finding.get("operation"),
        "seq": finding.get("sequence"),
        "lines": lines,
        "functions": functions,
        "values": {value["name"]: [same["value"] for same in value["ranks_by_value"]]
                   for value in finding.get("values", [])},
    }


def _differences(expected, actual, certainty_key):
    found = []

    def check(what, want, got):
        if want != got:
            found.append("%s: expected %s, got %s" % (what, want, got))

    for key in ("kind", "op"):
        if expected[key] != "any":
            check(key, expected[key], actual[key])
    for key in ("culprits", "waiting", "seq"):
        if expected[key] is not None:
            check(key, expected[key], actual[key])
    if "comm" in expected:
        check("communicator", expected["comm"], actual["comm"])
    if "comm!" in expected and expected["comm!"] == actual["comm"]:
        found.append("communicator: must not be %s" % actual["comm"])
    if actual["certainty"] not in expected[certainty_key]:
        check("certainty", " or ".join(expected[certainty_key]), actual["certainty"])
    if "values" in expected:
        check("values", expected["values"], actual["values"])
    for role, lines in expected["lines"].items():
        check("lines of role " + role, sorted(lines), sorted(actual["lines"][role], key=str))
    for role in ("culprit", "waiting"):
        name = expected.get("function@" + role)
        if name and not all(f and name in f for f in actual["functions"][role] or [None]):
            check("function of role " + role, name, actual["functions"][role])
    return found


def compare(expected_findings, verdict, source, analyzed=False):
    """Returns all differences as readable lines; none means exact agreement."""
    actual = [facts(finding, source) for finding in verdict.get("findings", [])]
    if len(actual) != len(expected_findings):
        kinds = ["%(kind)s of %(culprits)s" % finding for finding in actual]
        return ["expected %d findings, got %d: %s" % (len(expected_findings), len(actual), kinds)]
    key = "analyze-certainty" if analyzed else "certainty"
    differences = []
    for expected in expected_findings:
        tries = [_differences(expected, finding, key) for finding in actual]
        best = min(range(len(tries)), key=lambda i: len(tries[i]))
        differences += tries[best]
        del actual[best]
    return differences


def only_lacks_waiting(expected_findings, verdict, source):
    """Returns whether the verdict is correct except for ranks that are not yet among the waiting ranks."""
    if len(expected_findings) != 1 or expected_findings[0]["waiting"] is None:
        return False
    expected = expected_findings[0]
    actual = [facts(finding, source) for finding in verdict.get("findings", [])]
    if len(actual) != 1 or not set(actual[0]["waiting"]) < set(expected["waiting"]):
        return False
    return not compare([dict(expected, waiting=None)], verdict, source)
