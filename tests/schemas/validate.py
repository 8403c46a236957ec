#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Validates files against their published schemas: *.sarif by JSON Schema, *.xml by JUnit's XSD.

Runs under the system's Python, for which Debian's python3-jsonschema is installed. Exit code 1 and a line for each
problem if a file is invalid; 77 if a validator is not installed.
"""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MISSING = 77


def sarif_problems(path, jsonschema):
    with open(os.path.join(HERE, "sarif-2.1.0-rtm.5.json"), encoding="utf-8") as file:
        schema = json.load(file)
    with open(path, encoding="utf-8") as file:
        log = json.load(file)
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    problems = ["%s: %s" % ("/".join(map(str, error.absolute_path)), error.message)
                for error in validator.iter_errors(log)]
    # A rule that the schema cannot express: 3.27.6, ruleIndex names the rule with the result's ruleId.
    for run in log.get("runs", []):
        rules = run["tool"]["driver"].get("rules", [])
        for result in run.get("results", []):
            if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
                problems.append("ruleIndex %d is not %s" % (result["ruleIndex"], result["ruleId"]))
    return problems


def junit_problems(path, xmllint):
    done = subprocess.run(
        [xmllint, "--noout", "--nonet", "--schema", os.path.join(HERE, "junit-4.xsd"), path],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stderr.splitlines() if done.returncode else []


def main(paths):
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("SKIPPED: python3-jsonschema is not installed")
        return MISSING
    xmllint = shutil.which("xmllint")
    if xmllint is None:
        print("SKIPPED: xmllint is not installed")
        return MISSING
    failures = 0
    for path in paths:
        check, by = (sarif_problems, jsonschema) if path.endswith(".sarif") else (junit_problems, xmllint)
        problems = check(path, by)
        failures += len(problems)
        print("%s: %s" % (path, "; ".join(problems) or "valid"))
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
