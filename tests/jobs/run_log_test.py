#!/usr/bin/env python3
"""Runs a program without rollcall, and compares the verdict on what it and its launcher printed.

  run_log_test.py --rollcall PATH --expect KIND:RANKS COMMAND...

KIND is that of the first finding, or none; RANKS are the culprits, with commas between them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import jobs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("--expect", required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "job.log")
        with jobs.Job(["sh", "-c", 'exec "$@" > "$0" 2>&1', log, *options.command]) as job:
            if job.wait() is None:
                sys.exit("the job did not end")
        analyzed = subprocess.run([options.rollcall, "analyze", "--output", "json", log], capture_output=True,
                                  text=True, timeout=60, check=False)
        with open(log, encoding="utf-8", errors="replace") as text:
            printed = text.read()
    findings = json.loads(analyzed.stdout)["findings"]
    got = "none:"
    if findings:
        got = "%s:%s" % (findings[0]["kind"], ",".join(map(str, findings[0]["culprits"])))
    if got != options.expect:
        sys.exit("expected %s, got %s\n%s\n%s" % (options.expect, got, analyzed.stdout, printed))
    for finding in findings:
        for quote in finding["log"]:
            line = printed.split("\n")[quote["line"] - 1]
            if quote["text"].split()[-1] not in line:
                sys.exit("line %d is not what was quoted: %s" % (quote["line"], quote["text"]))


if __name__ == "__main__":
    main()
