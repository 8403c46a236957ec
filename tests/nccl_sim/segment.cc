// SPDX-License-Identifier: Apache-2.0
#include "tests/nccl_sim/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace nccl_sim {

Segment* Open(const std::string& name) {
  const int fd = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0) return nullptr;
  void* map = MAP_FAILED;
  // Sparse: pages come as ranks touch them.
  if (ftruncate(fd, sizeof(Segment)) == 0) {
    map = mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return map == MAP_FAILED ? nullptr : static_cast<Segment*>(map);
}

void Close(Segment* segment) { munmap(segment, sizeof(Segment)); }

void Remove(const std::string& name) { shm_unlink(name.c_str()); }

}  // namespace nccl_sim
