#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of a PyTorch program as torchrun does.

  torch_ranks.py RANKS COMMAND [ARGUMENT...]

torchrun of PyTorch 1.13 (Debian 12) fails under Python 3.11. The ranks inherit the output. If one fails, the others
are ended, as torchrun does; the exit code is that of the first that failed.
"""

import os
import socket
import subprocess
import sys


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    size = int(sys.argv[1])
    common = dict(os.environ, WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1",
                  MASTER_PORT=str(free_port()), GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    ranks = {}
    for rank in range(size):
        process = subprocess.Popen(sys.argv[2:], env=dict(common, RANK=str(rank), LOCAL_RANK=str(rank)))
        ranks[process.pid] = process
    failed = 0
    while ranks:
        pid, status = os.wait()
        process = ranks.pop(pid, None)
        if process is None:
            continue
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0 and failed == 0:
            failed = process.returncode if process.returncode > 0 else 1
            for other in ranks.values():
                other.terminate()
    sys.exit(failed)


if __name__ == "__main__":
    main()
