# SPDX-License-Identifier: Apache-2.0
# Rank 0 is a scheduler that serves its clients by sockets until one of them says "close". Rank 1, the client, ends
# without it. Rank 0 never arrives where the others wait.
#
# report: dask/dask-mpi#87
# job: ranks=3 outcome=hung
# expect: kind=rank-stalled culprits=0
# says: accept
import socket
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
CONTROL = "--control" in sys.argv


def call(address, text):
    with socket.create_connection(address) as connection:
        connection.sendall(text.encode())
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(100).decode()


def schedule(server):
    done = 0
    while True:
        connection, _ = server.accept()
        with connection:
            order = connection.recv(100).decode()
            if order == "close":
                connection.sendall(b"bye")
                return done
            done += 1
            connection.sendall(("done " + order).encode())


def client(address):
    for task in range(3):
        call(address, "task %d" % task)
    if CONTROL:
        call(address, "close")


server = socket.create_server(("127.0.0.1", 0)) if comm.rank == 0 else None
address = comm.bcast(server.getsockname() if server else None)
if comm.rank == 0:
    print("tasks", schedule(server))
elif comm.rank == 1:
    client(tuple(address))
else:
    call(tuple(address), "register")
comm.Barrier()
