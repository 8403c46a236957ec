# SPDX-License-Identifier: Apache-2.0
"""A serving engine on PyTorch: rank 0 takes requests, and the other ranks wait for work in a broadcast.

A request is one letter: w works, q ends the job, b keeps rank 0 busy for good, and with a, rank 2 waits for a
further broadcast where the others compute.
"""

import signal
import socket
import threading

import torch
import torch.distributed as dist

MOST_SECONDS = 120  # the safety net: no rank outlives this


def step(request):
    """Does what a request asks for on all ranks. Returns whether there may be another one."""
    work = [request]
    dist.broadcast_object_list(work, src=0)
    if work[0] == "a" and dist.get_rank() == 2:
        dist.broadcast_object_list(work, src=0)  # @ahead
    dist.all_reduce(torch.ones(4))  # @compute
    return work[0] != "q"


def serve():
    server = socket.create_server(("127.0.0.1", 0))
    print("port %d" % server.getsockname()[1], flush=True)
    while True:
        client, _ = server.accept()  # @accept
        with client:
            request = client.recv(1).decode()
            if request == "b":
                threading.Event().wait()  # @busy
            if not step(request):
                return


signal.alarm(MOST_SECONDS)
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    serve()
else:
    while step(None):
        pass
