// SPDX-License-Identifier: Apache-2.0
// Jobs that grow: spawned processes, and two groups that meet at a port and over a socket.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/every_call/every_call.h"

static void Use(MPI_Comm between) {
  int sum = 0;
  const int one = 1;
  DO(MPI_Allreduce, &one, &sum, 1, MPI_INT, MPI_SUM, between);
  Observe(&sum, sizeof(sum));
}

static void Part(MPI_Comm between) {
  Use(between);
  DO(MPI_Comm_disconnect, &between);
}

#ifndef MPICH  // Debian's can do none of this: "not supported with ucx netmod"
// Both ranks are groups of their own.
static void MeetAtPort(int rank) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm between = MPI_COMM_NULL;
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    DO(MPI_Send, port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    DO(MPI_Comm_accept, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
  } else {
    DO(MPI_Recv, port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    DO(MPI_Comm_connect, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &between);
  }
  Part(between);
  if (rank == 0) MPI_Close_port(port);
}

static int Loopback(int rank) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t bytes = sizeof(address);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (rank == 0) {
    Require("listen", bind(fd, (struct sockaddr*)&address, bytes) == 0 && listen(fd, 1) == 0 &&
                          getsockname(fd, (struct sockaddr*)&address, &bytes) == 0);
    DO(MPI_Send, &address.sin_port, sizeof(address.sin_port), MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    const int accepted = accept(fd, NULL, NULL);
    close(fd);
    return accepted;
  }
  DO(MPI_Recv, &address.sin_port, sizeof(address.sin_port), MPI_BYTE, 0, 2, MPI_COMM_WORLD,
     MPI_STATUS_IGNORE);
  Require("connect", connect(fd, (struct sockaddr*)&address, bytes) == 0);
  return fd;
}

static void MeetOverSocket(int rank) {
  const int fd = Loopback(rank);
  MPI_Comm between = MPI_COMM_NULL;
  DO(MPI_Comm_join, fd, &between);
  Part(between);
  close(fd);
}

static void Spawn(char* program) {
  char* arguments[] = {"child", NULL};
  char** both[] = {arguments, arguments};
  char* programs[] = {program, program};
  const int ones[] = {1, 1};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  int errors[2] = {0, 0};
  MPI_Comm children = MPI_COMM_NULL;
  DO(MPI_Comm_spawn, program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors);
  Part(children);
  DO(MPI_Comm_spawn_multiple, 2, programs, both, ones, infos, 0, MPI_COMM_WORLD, &children, errors);
  Part(children);
}
#endif

int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  DO(MPI_Comm_get_parent, &parent);
  const int rank = WorldRank();
  if (parent != MPI_COMM_NULL) {
    Part(parent);
    DO(MPI_Finalize);
    return Finish("child", rank);
  }
#ifndef MPICH
  MeetAtPort(rank);
  MeetOverSocket(rank);
  Spawn(argv[0]);
#endif
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
