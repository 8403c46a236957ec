// SPDX-License-Identifier: Apache-2.0
// What the fault programs of tests/faults/nccl need where they run on NCCL and a GPU instead of the
// stand-ins of tests/nccl_sim: built by scripts/gpu with ROLLCALL_REAL_NCCL.
#ifndef ROLLCALL_TESTS_GPU_REAL_NCCL_H_
#define ROLLCALL_TESTS_GPU_REAL_NCCL_H_

#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The programs write and read their data from the host.
#define cudaMalloc(memory, bytes) cudaMallocManaged(memory, bytes, cudaMemAttachGlobal)

// All ranks share the GPUs that there are. NCCL refuses two ranks of one host on one device: up to
// 2.29 each passes for a host of its own; later versions can be told to allow it.
__attribute__((constructor)) static void ShareTheGpu(void) {
  const char* rank = getenv("RANK");
  char host[64];
  snprintf(host, sizeof(host), "rollcall-%s", rank == NULL ? "0" : rank);
  setenv("NCCL_HOSTID", host, 0);
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  setenv("NCCL_IB_DISABLE", "1", 0);
  setenv("NCCL_MNNVL_ENABLE", "0", 0);
}

// From rank 0 to the others, past NCCL. scripts/gpu removes the files.
static inline ncclUniqueId SharedId(const char* job, int n) {
  char path[256], made[300];
  snprintf(path, sizeof(path), "/dev/shm/rollcall-gpu-%.100s-%d", job, n);
  snprintf(made, sizeof(made), "%s.new", path);
  ncclUniqueId id;
  const char* rank = getenv("RANK");
  if (rank == NULL || atoi(rank) == 0) {
    const int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (ncclGetUniqueId(&id) != ncclSuccess || fd < 0 || write(fd, &id, sizeof(id)) != sizeof(id)) {
      fprintf(stderr, "no unique id\n");
      exit(8);
    }
    close(fd);
    rename(made, path);
    return id;
  }
  int fd = -1;
  while ((fd = open(path, O_RDONLY)) < 0) usleep(1000);
  if (read(fd, &id, sizeof(id)) != sizeof(id)) exit(8);
  close(fd);
  return id;
}

#endif  // ROLLCALL_TESTS_GPU_REAL_NCCL_H_
