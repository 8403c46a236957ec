# SPDX-License-Identifier: Apache-2.0
"""Nodes of a small cluster, made of namespaces: each has a host name, an address, and a /dev/shm of its own.

They live in the namespaces of this process, which must be its own (network, mounts, processes): nothing is left when it
ends.
"""

import os
import subprocess
import time

ADDRESS = "10.0.0.%d"
# What launchers call to start something on a host: `ssh [OPTION...] HOST COMMAND...`.
SSH = """#!/bin/sh
while [ "$1" != "${1#-}" ]; do shift; done
holder=$(cat /run/nodes/"$1")
shift
exec nsenter --target "$holder" --net --uts --mount --root --wd=/root/job env -i PATH="$PATH" HOME="$HOME" \\
  PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$*"
"""
HOLDER = "hostname %s && mkdir -p %s && mount -t tmpfs -o mode=%s tmpfs %s && exec sleep infinity"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def _name(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8") as name:
        return name.read().strip()


class Nodes:
    """node1 to nodeN, or with other names, at one bridge. Each has its own `own`, a directory of shared memory: all of
    /dev/shm, or rollcall's part of it where the simulated NCCL moves data from node to node through the rest."""

    def __init__(self, count, own="/dev/shm", host="node%d", first=1, domain=""):
        os.makedirs("/run/nodes", exist_ok=True)
        with open("/usr/local/bin/ssh", "w", encoding="utf-8") as ssh:
            ssh.write(SSH)
        os.chmod("/usr/local/bin/ssh", 0o755)
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge", "type", "bridge")
        ip("addr", "add", ADDRESS % 254 + "/24", "dev", "bridge")
        ip("link", "set", "bridge", "up")
        self.names = [host % (first + i) for i in range(count)]
        self._holders = {}
        addresses = "127.0.0.1 localhost\n"
        for i, name in enumerate(self.names):
            script = HOLDER % (name, own, "1777" if own == "/dev/shm" else "700", own)
            holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", script])
            self._holders[name] = holder
            with open("/run/nodes/" + name, "w", encoding="utf-8") as file:
                file.write(str(holder.pid))
            while _name(holder.pid) != "sleep":
                time.sleep(0.01)
            address = ADDRESS % (i + 1)
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            ip("link", "set", name, "master", "bridge", "up")
            for words in (("addr", "add", address + "/24", "dev", "eth0"), ("link", "set", "lo", "up"),
                          ("link", "set", "eth0", "up")):
                subprocess.run(self.on(name) + ["ip", *words], check=True)
            addresses += "%s %s%s %s\n" % (address, name, domain, name)
        with open("/etc/hosts", "w", encoding="utf-8") as hosts:
            hosts.write(addresses)

    def on(self, name):
        """Words that run a command on a node, in this environment."""
        return ["nsenter", "--target", str(self._holders[name].pid), "--net", "--uts", "--mount", "--root",
                "--wd=/root/job"]
