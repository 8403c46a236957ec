# SPDX-License-Identifier: Apache-2.0
"""Hostile environments for a program. Each function takes a command line (a list) and returns one that sets up the
environment, in its own namespaces, and runs the command there; raises `Unavailable` if this machine forbids it.

`run` is the run directory, which the runner has created empty, with mode 0700, in shared memory.
"""

import os
import shutil
import subprocess


class Unavailable(Exception):
    """The environment cannot be set up here; the text gives the reason."""


def _shell(script, command):
    return ["sh", "-c", script + '\nexec "$@"', "sh"] + command


def _mounts(script, command):
    """Runs the script and the command in a mount namespace, whose mounts end with the command."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], capture_output=True,
                                         check=False).returncode != 0:
        raise Unavailable("mount namespaces are not permitted (unshare -m)")
    return [unshare, "-m"] + _shell("set -e\n" + script, command)


def mounts(command):
    """Returns whether a wrapped command makes mounts, which end with it."""
    return os.path.basename(command[0]) == "unshare"


def plain(command, run):
    del run
    return command


def small_shm(command, run):
    """A /dev/shm of 64 MB, as in a container, that the MPI library and the run directory share."""
    return _mounts("mount -t tmpfs -o size=64m,mode=1777 none /dev/shm; mkdir -m 0700 %s" % run, command)


def tiny_run_directory(command, run):
    """A run directory of 1 MiB: less than any ring."""
    return _mounts("mount -t tmpfs -o size=1m,mode=0700 none %s" % run, command)


def filling_run_directory(command, run):
    """A run directory of 80 MiB, enough for one ring, for a program that fills the rest."""
    return _mounts("mount -t tmpfs -o size=80m,mode=0700 none %s" % run, command)


def no_shm(command, run):
    """No /dev/shm at all, as in some chroots and containers."""
    del run
    return _mounts(
        "mount -t tmpfs none /mnt; mkdir -p /mnt/dev\n"
        "for f in null zero urandom random tty; do cp -a /dev/$f /mnt/dev/ 2>/dev/null || true; done\n"
        "ln -s /proc/self/fd /mnt/dev/fd; mkdir /mnt/dev/pts; mount --bind /dev/pts /mnt/dev/pts\n"
        "mount --move /mnt /mnt 2>/dev/null || true; mount --bind /mnt/dev /dev\n"
        "test ! -e /dev/shm", command)


def read_only_run_directory(command, run):
    return _mounts("mount -t tmpfs -o ro,mode=0700 none %s" % run, command)


def open_run_directory(command, run):
    """A run directory that others may write into, so that it is unsafe for a user's files."""
    return _shell("chmod 0777 %s" % run, command)


def foreign_run_directory(command, run):
    if os.geteuid() != 0:
        raise Unavailable("only root can give a directory away")
    return _shell("chown 65534 %s" % run, command)


def symlink_run_directory(command, run):
    return _shell("mv %s %s.real && ln -s %s.real %s" % (run, run, run, run), command)


def disk_run_directory(command, run):
    """A run directory on a disk file system, where writeback would stall the job."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", "/tmp"], capture_output=True, text=True, check=False)
    if kind.stdout.strip() in ("tmpfs", "ramfs", ""):
        raise Unavailable("/tmp is no disk")
    return _mounts("mkdir -m 0700 disk; mount --bind disk %s" % run, command)


def missing_run_directory(command, run):
    return _shell("rmdir %s" % run, command)


def _file_size_limit(blocks, command):
    """Limits the file size, except for output, which goes through pipes. dash counts blocks of 512 bytes."""
    return ["sh", "-c", '''
{ ( (ulimit -f %d; exec "$@"); echo $? > code ) 2>&1 >&3 | cat >&2; } 3>&1 | cat
exit "$(cat code)"''' % blocks, "sh"] + command


def file_size_limit_zero(command, run):
    del run
    return _file_size_limit(0, command)


def file_size_limit_1_mib(command, run):
    del run
    return _file_size_limit(2048, command)


def no_room_for_a_line(command, run):
    """stderr is a file that may not grow: a write to it kills the process."""
    del run
    return _shell("ulimit -f 0", command)


def no_home(command, run):
    del run
    return _shell("HOME=/proc; export HOME; unset XDG_RUNTIME_DIR", command)


def closed_standard_streams(command, run):
    """The only result of the program is its exit code."""
    del run
    return ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"] + command


def little_address_space(command, run):
    del run
    return _shell("ulimit -v 4194304", command)


def few_descriptors(command, run):
    del run
    return _shell("ulimit -n 32", command)


def address_sanitizer(command, run):
    del run
    return _shell("ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0; export ASAN_OPTIONS", command)
