// SPDX-License-Identifier: Apache-2.0
#include "collector/watch/room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "collector/base/file.h"

namespace rollcall {
namespace {

// One node uses 24 descriptors, and the collector keeps 32 for itself.
constexpr int kDescriptors = 56;
constexpr size_t kMemoryBytes = size_t{256} << 20;

// A watched job uses 16 on 2 cores. gRPC 1.51 starts up to two for each core, for 32 cores at most.
int ThreadsUsed() {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return 16 + 2 * std::clamp(cores, 2, 32);
}

bool HasDescriptors() {
  std::vector<UniqueFd> taken;
  const UniqueFd any(open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (int i = 1; i < kDescriptors; ++i) {
    taken.emplace_back(fcntl(any.get(), F_DUPFD_CLOEXEC, 0));
    if (!taken.back()) return false;
  }
  return true;
}

bool HasThreads(int count) {
  std::mutex all_started;
  std::vector<std::thread> threads;
  bool started = true;
  {
    const std::lock_guard hold(all_started);
    try {
      while (threads.size() < static_cast<size_t>(count)) {
        threads.emplace_back([&all_started] { const std::lock_guard wait(all_started); });
      }
    } catch (const std::system_error&) {
      started = false;
    }
  }
  for (std::thread& thread : threads) thread.join();
  return started;
}

}  // namespace

std::string MissingResource() {
  if (!HasDescriptors())
    return fmt::format("fewer than {} free descriptors (ulimit -n)", kDescriptors);
  rlimit address_space{};
  getrlimit(RLIMIT_AS, &address_space);
  // Each of glibc's heaps takes 64 MiB of it, up to eight for each core.
  if (address_space.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 2);
  void* const memory = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return fmt::format("less than {} MiB of memory (ulimit -v, -d)", kMemoryBytes >> 20);
  const int threads = 2 * ThreadsUsed();  // held together with the memory
  const bool started = HasThreads(threads);
  munmap(memory, kMemoryBytes);
  return started ? "" : fmt::format("no room for {} threads (ulimit -u, -v)", threads);
}

}  // namespace rollcall
