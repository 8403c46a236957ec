# SPDX-License-Identifier: Apache-2.0
"""Debian systems in directories, for tests that run what dist/ has where nothing else of rollcall is.

They are made below build/systems as root, with debootstrap, and kept for the next time.
"""

import glob
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSTEMS = os.path.join(ROOT, "build", "systems")
ENVIRONMENT = "HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 OMPI_ALLOW_RUN_AS_ROOT=1 " \
              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
EMULATORS = {"arm64": "qemu-aarch64"}  # of Debian's package qemu-user-static

# A job that hangs, its verdict, and the exit code of `rollcall run` on it.
COMPILE_HANG = "mpicc.openmpi -g -O1 -DFAULT -I. tests/faults/collective/barrier_skipped_by_rank0.c -o hangs"
LAUNCH = "run --on-hang=kill %s -- mpirun.openmpi --oversubscribe -n 4 %s"
VERDICT = "rank-conditional-collective"
ENDED_BY_ROLLCALL = 86


def expect(what, right, output):
    if not right:
        sys.exit("FAIL %s\n%s" % (what, output[-4000:]))


def sh(command, **options):
    return subprocess.run(command, shell=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)


def must(command, **options):
    done = sh(command, **options)
    if done.returncode != 0:
        sys.exit("%s\nended with %d:\n%s" % (command, done.returncode, done.stdout[-4000:]))
    return done.stdout


def load(*path):
    """A script as a module."""
    loader = importlib.machinery.SourceFileLoader(path[-1], os.path.join(ROOT, *path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path[-1], loader))
    loader.exec_module(module)
    return module


def mirror():
    return load("scripts", "package").mirror_of_this_machine()


def one(pattern):
    """The only file of that pattern in dist/."""
    found = glob.glob(os.path.join(ROOT, "dist", pattern))
    if len(found) != 1:
        sys.exit("dist/ must hold one %s: run scripts/package" % pattern)
    return found[0]


class System:
    """A Debian in a directory, with the packages that are asked for. Its mounts are those of a namespace that ends with
    the command. One of another architecture runs under QEMU's user emulation, which the kernel starts while a namespace
    has binfmt_misc mounted."""

    def __init__(self, release, packages, architecture=None):
        self.root = os.path.join(SYSTEMS, "-".join(filter(None, (release, architecture))))
        self.emulation = ""
        if architecture:
            self.emulation = "formats=/proc/sys/fs/binfmt_misc && mount -t binfmt_misc none $formats && " \
                             "{ test -e $formats/%s || cat /usr/lib/binfmt.d/%s.conf > $formats/register; } && " \
                             % (EMULATORS[architecture], EMULATORS[architecture])
        self.job = self.root + "/root/job"
        made, installed = self.root + "/made", self.root + "/installed"
        if not os.path.exists(made):
            shutil.rmtree(self.root, ignore_errors=True)
            os.makedirs(SYSTEMS, exist_ok=True)
            must("unshare --mount bash -c '%sdebootstrap %s --variant=minbase --include=ca-certificates %s %s %s'"
                 % (self.emulation, "--arch=" + architecture if architecture else "", release, self.root, mirror()))
            shutil.copy("/etc/resolv.conf", self.root + "/etc/resolv.conf")
            must(self.command("apt-get update -q"))
            open(made, "w", encoding="utf-8").close()
        there = set()
        if os.path.exists(installed):
            with open(installed, encoding="utf-8") as names:
                there = set(names.read().split())
        missing = sorted(set(packages.split()) - there)
        if missing:
            must(self.command("DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "
                              + " ".join(missing)))
            with open(installed, "a", encoding="utf-8") as names:
                names.write("\n".join(missing) + "\n")

    def command(self, inside, unshare=""):
        """A shell command that runs `inside` in the system, in namespaces of its own as the options say."""
        # `unshare --mount` inside works only where / is a mount point.
        mounts = self.emulation + "mount --bind %s %s && " % (self.root, self.root)
        mounts += "".join("mount --rbind /%s %s/%s && " % (name, self.root, name) for name in ("sys", "dev"))
        mounts += "mount -t proc proc %s/proc && mount -t tmpfs tmpfs %s/dev/shm && " % (self.root, self.root)
        return "unshare --mount %s bash -c '%scd / && exec env -i %s chroot %s bash -c \"%s\"'" \
               % (unshare, mounts, ENVIRONMENT, self.root, inside)

    def clear_job(self):
        """Empties the directory in which run() starts."""
        shutil.rmtree(self.job, ignore_errors=True)
        os.makedirs(self.job)

    def add_faults(self, *folders):
        """Adds these folders of the fault programs to that directory."""
        faults = os.path.join(ROOT, "tests", "faults")
        shutil.copytree(faults, self.job + "/tests/faults", ignore=lambda directory, names: [
            name for name in names
            if directory == faults and os.path.isdir(os.path.join(directory, name)) and name not in folders])

    def run(self, inside, unshare=""):
        """Exit code, output, and seconds of a command in the job's directory."""
        begin = time.monotonic()
        done = sh(self.command("cd /root/job && " + inside, unshare))
        return done.returncode, done.stdout, time.monotonic() - begin
