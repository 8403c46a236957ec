#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one case of the live tests: real Open MPI jobs under rollcall, with and without failures.

Prints SKIPPED and why, with exit code 77, where the machine does not permit the case's environment.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time

import cases_attach
import cases_bundle
import cases_containers
import cases_idle
import cases_launch
import cases_logs
import cases_memory
import cases_messages
import cases_nodes
import cases_run
import cases_shm
import cases_signals
import cases_top
import cases_unrecorded
import cases_users
import live

SKIPPED = 77

CASES = {**cases_attach.CASES, **cases_bundle.CASES, **cases_idle.CASES, **cases_launch.CASES, **cases_logs.CASES,
         **cases_memory.CASES, **cases_run.CASES, **cases_nodes.CASES, **cases_containers.CASES, **cases_shm.CASES, **cases_top.CASES,
         **cases_users.CASES, **cases_messages.CASES, **cases_signals.CASES, **cases_unrecorded.CASES}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True, help="the rollcall command")
    parser.add_argument("--build", required=True, help="the build directory, to install from")
    parser.add_argument("--program", required=True, help="staged_job, built with Open MPI")
    parser.add_argument("--mpich-program", help="the same with MPICH, where that is installed")
    parser.add_argument("case", choices=sorted(CASES))
    args = parser.parse_args()
    args.rollcall = os.path.abspath(args.rollcall)
    args.program = os.path.abspath(args.program)
    if args.mpich_program:
        args.mpich_program = os.path.abspath(args.mpich_program)
    case = CASES[args.case]
    on_disk = getattr(case, "on_disk", False)
    directory = tempfile.mkdtemp(prefix="rollcall-live-") if on_disk else live.jobs.make_directory()
    started = time.monotonic()
    try:
        case(live.Scene(args, directory))
    except live.Unavailable as reason:
        print("SKIPPED: %s" % reason)
        return SKIPPED
    except live.Failure as failure:
        print("FAILED: %s" % failure)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("passed in %.1f s" % (time.monotonic() - started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
