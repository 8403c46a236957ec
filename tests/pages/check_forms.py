#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the files that a hosting service reads: check_forms.py ROOT.

- Each form of .github/ISSUE_TEMPLATE is complete. The forms for bugs and verdicts ask for `rollcall --version` and for
  a bundle.
- Each workflow runs scripts that exist, on Debian 12.
- CITATION.cff has what the Citation File Format requires, and the licence of LICENSE.
"""

import glob
import os
import re
import sys

import yaml

KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
ASK_FOR_TRACES = {"bug.yml", "wrong_verdict.yml"}


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def check_form(path, problems):
    form = load(path)
    name = os.path.basename(path)
    missing = {"name", "description", "body"} - set(form)
    if missing:
        problems.append("%s: lacks %s" % (name, ", ".join(sorted(missing))))
    for field in form["body"]:
        if field["type"] not in KINDS or not field["attributes"].get("label"):
            problems.append("%s: a field is incomplete: %s" % (name, field))
    asked = "\n".join(field["attributes"].get("description", "") for field in form["body"])
    for words in ("rollcall --version", "rollcall bundle"):
        if name in ASK_FOR_TRACES and words not in asked:
            problems.append("%s: does not ask for %s" % (name, words))


def check_workflow(root, path, problems):
    name = os.path.basename(path)
    for job in load(path)["jobs"].values():
        scripts = [word for step in job["steps"] for word in re.findall(r"\bscripts/\S+", step.get("run", ""))]
        if not scripts or job["container"]["image"] != "debian:12":
            problems.append("%s: runs no script on Debian 12" % name)
        problems += ["%s: runs %s, which does not exist" % (name, script) for script in scripts
                     if not os.access(os.path.join(root, script), os.X_OK)]


def check_citation(root, problems):
    citation = load(os.path.join(root, "CITATION.cff"))
    for key in ("cff-version", "message", "title", "authors", "version", "license"):
        if not citation.get(key):
            problems.append("CITATION.cff: lacks %s" % key)
    with open(os.path.join(root, "LICENSE"), encoding="utf-8") as file:
        apache = "Apache License\n" in file.read(200)
    if not apache or citation.get("license") != "Apache-2.0":
        problems.append("CITATION.cff: LICENSE is another licence")


def main():
    root = sys.argv[1]
    problems = []
    forms = [path for path in glob.glob(root + "/.github/ISSUE_TEMPLATE/*.yml") if not path.endswith("/config.yml")]
    workflows = glob.glob(root + "/.github/workflows/*.yml")
    if not ASK_FOR_TRACES <= {os.path.basename(path) for path in forms} or not workflows:
        problems.append(".github: a form or the workflows are missing")
    for path in sorted(forms):
        check_form(path, problems)
    for path in sorted(workflows):
        check_workflow(root, path, problems)
    check_citation(root, problems)
    if problems:
        sys.exit("\n".join(problems))
    print("forms: %d forms and %d workflows are in order" % (len(forms), len(workflows)))


if __name__ == "__main__":
    main()
