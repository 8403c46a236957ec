// SPDX-License-Identifier: Apache-2.0
// A job that serves: rank 0 waits for requests, and the other ranks in a broadcast for its word.
//
//   serving_job MODE   prints "port N", and "step N" after each request; ends with exit code 0.
//                      Requests: w, a step; b, rank 0 computes before the step; q, the last step
//   accept, recv       rank 0 waits in this call: for a client, or for what the client sends
//   poll, select, epoll   it waits in this call for both
//   recv-rank          it waits for what rank 1 sends, which waits in the broadcast
//   connect-rank       as accept; rank 1 is in connect(), to a server that takes no connection
//   diverged           as accept; rank 1 waits in a barrier that rank 2 skipped
#include <arpa/inet.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

// The safety net: no rank outlives this, whatever becomes of the test that started it.
enum { kMostSeconds = 120, kFull = 4, kBusySeconds = 4 };

static void Compute(void) {
  const double end = MPI_Wtime() + kBusySeconds;
  while (MPI_Wtime() < end) continue;
}

static struct sockaddr_in Loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static int Listen(int* port) {
  struct sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr*)&address, size) != 0 || listen(fd, 0) != 0) exit(9);
  getsockname(fd, (struct sockaddr*)&address, &size);
  *port = ntohs(address.sin_port);
  return fd;
}

static int Connect(int port, int type) {
  const struct sockaddr_in address = Loopback(port);
  const int fd = socket(AF_INET, SOCK_STREAM | type, 0);
  connect(fd, (const struct sockaddr*)&address, sizeof(address));  // @connect-rank
  return fd;
}

// Nobody accepts these connections, so that the last one waits.
static void ConnectInVain(void) {
  int port = 0;
  Listen(&port);
  for (int i = 0; i < kFull; ++i) Connect(port, SOCK_NONBLOCK);
  Connect(port, 0);
}

// Returns which of the two descriptors can be read.
__attribute__((noinline)) static int WaitForOne(const char* mode, int a, int b) {
  if (strcmp(mode, "poll") == 0) {
    struct pollfd both[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    poll(both, 2, -1);  // @poll
    return both[1].revents != 0 ? b : a;
  }
  if (strcmp(mode, "select") == 0) {
    fd_set both;
    FD_ZERO(&both);
    FD_SET(a, &both);
    if (b >= 0) FD_SET(b, &both);
    select((a > b ? a : b) + 1, &both, NULL, NULL, NULL);  // @select
    return b >= 0 && FD_ISSET(b, &both) ? b : a;
  }
  const int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = a};
  epoll_ctl(set, EPOLL_CTL_ADD, a, &event);
  event.data.fd = b;
  if (b >= 0) epoll_ctl(set, EPOLL_CTL_ADD, b, &event);
  epoll_wait(set, &event, 1, -1);  // @epoll
  close(set);
  return event.data.fd;
}

// Returns the next request.
__attribute__((noinline)) static char Request(const char* mode, int listening) {
  static int client = -1;
  char request = 'q';
  const int waits =
      strcmp(mode, "poll") == 0 || strcmp(mode, "select") == 0 || strcmp(mode, "epoll") == 0;
  for (;;) {
    if (waits && WaitForOne(mode, listening, client) == listening) {
      if (client >= 0) close(client);
      client = accept(listening, NULL, NULL);
      continue;
    }
    if (client < 0) client = accept(listening, NULL, NULL);  // @accept
    const long got = recv(client, &request, 1, 0);           // @recv
    if (strcmp(mode, "accept") == 0 || got <= 0) {
      close(client);
      client = -1;
    }
    if (got > 0) return request;
  }
}

int main(int argc, char** argv) {
  alarm(kMostSeconds);
  MPI_Init(&argc, &argv);
  const char* mode = argc > 1 ? argv[1] : "accept";
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm workers;
  MPI_Comm_split(MPI_COMM_WORLD, rank != 0, rank, &workers);
  int port = 0;
  const int listening = rank == 0 ? Listen(&port) : -1;
  MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("port %d\n", port);
    fflush(stdout);
  }
  if (rank == 1 && strcmp(mode, "recv-rank") == 0) Connect(port, 0);
  if (rank == 1 && strcmp(mode, "connect-rank") == 0) ConnectInVain();
  if (rank == 1 && strcmp(mode, "diverged") == 0) MPI_Barrier(workers);
  int request = 'w';
  for (int step = 1; request != 'q'; ++step) {
    if (rank == 0) request = Request(mode, listening);
    if (rank == 0 && request == 'b') Compute();
    MPI_Bcast(&request, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("step %d\n", step);
    fflush(stdout);
  }
  MPI_Comm_free(&workers);
  MPI_Finalize();
  return 0;
}
