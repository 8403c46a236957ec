#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validates reports of rollcall against their schema: verdict.py SCHEMA FILE, which is a JSON array of reports.

Runs under the system's Python, for which Debian's python3-jsonschema is installed. Exit code 77 without it.
"""

import json
import sys


def main():
    try:
        import jsonschema
    except ImportError:
        return 77
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    with open(sys.argv[2], encoding="utf-8") as file:
        reports = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    errors = [error for report in reports for error in validator.iter_errors(report)]
    for error in errors[:10]:
        print("%s: %s" % ("/".join(map(str, error.absolute_path)), error.message), file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
