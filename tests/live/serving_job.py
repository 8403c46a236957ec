# SPDX-License-Identifier: Apache-2.0
"""The job of serving_job.c in Python, with mpi4py: serving_job.py accept, http or asyncio."""

import asyncio
import http.server
import signal
import socket
import sys

from mpi4py import MPI

MOST_SECONDS = 120  # the safety net: no rank outlives this

world = MPI.COMM_WORLD


def step(request):
    """Does what one request, a letter, asks for on all ranks. Returns whether there may be another one."""
    return world.bcast(request, root=0) != "q"


def serve_by_accept():
    server = socket.create_server(("127.0.0.1", 0))
    print("port %d" % server.getsockname()[1], flush=True)
    while True:
        client, _ = server.accept()  # @accept
        with client:
            if not step(client.recv(1).decode()):
                return


class Handler(http.server.BaseHTTPRequestHandler):
    """GET /w or /q."""

    def do_GET(self):  # pylint: disable=invalid-name
        self.server.goes_on = step(self.path[1:])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def serve_http():
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.goes_on = True
    print("port %d" % server.server_port, flush=True)
    while server.goes_on:
        server.handle_request()  # @http


async def serve_asyncio():
    ended = asyncio.Event()

    async def answer(reader, _):
        while request := await reader.read(1):
            if not step(request.decode()):
                ended.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print("port %d" % server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()


signal.alarm(MOST_SECONDS)
if world.rank == 0:
    if sys.argv[1] == "accept":
        serve_by_accept()
    elif sys.argv[1] == "http":
        serve_http()
    else:
        asyncio.run(serve_asyncio())  # @asyncio
else:
    while step(None):
        pass
