// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/thread_stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace rollcall::shim {
namespace {

// The stack pointer at process start, which ld.so exports. It is found by dlsym, because a
// reference would put ld.so on the NEEDED list. The alternative, pthread_getattr_np, opens
// /proc/self/maps.
uint64_t initial_stack_end = 0;

constexpr uint64_t kPagesAtOnce = 1024;

// True if all pages are mapped. The addresses are page-aligned, at most kPagesAtOnce pages apart.
bool AllMapped(uint64_t begin, uint64_t end) {
  unsigned char resident[kPagesAtOnce];
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return mincore(reinterpret_cast<void*>(begin), end - begin, resident) == 0;
}

}  // namespace

void InitThreadStack() {
  if (void* const* end = static_cast<void**>(dlsym(RTLD_DEFAULT, "__libc_stack_end"))) {
    initial_stack_end = reinterpret_cast<uint64_t>(*end);
  }
}

StackBounds FindStackBounds() {
  const bool initial_thread = syscall(SYS_gettid) == getpid();
  if (initial_thread && initial_stack_end != 0) {
    return {initial_stack_end, initial_stack_end, true};
  }
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  size_t size = 0;
  const bool found = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_destroy(&attributes);
  if (!found) return {};
  const auto begin = reinterpret_cast<uint64_t>(low);
  return {begin, begin + size, false};
}

bool GrowStackBounds(StackBounds* bounds, uint64_t address) {
  if (!bounds->initial_thread || address >= bounds->low) return false;
  const auto region = static_cast<uint32_t>(address >> StackBounds::kRegionBits);
  const uint32_t index = region % StackBounds::kRegions;
  uint32_t& times = bounds->foreign_times[index];
  if (bounds->foreign_region[index] != region) {
    bounds->foreign_region[index] = region;
    times = 0;
  }
  ++times;
  if ((times & (times - 1)) != 0) return false;

  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t bottom = address & ~(page - 1);
  uint64_t end = (bounds->low + page - 1) & ~(page - 1);
  // The loop goes from the known part downwards, so that it stops at the first hole.
  while (end > bottom) {
    const uint64_t begin = end - std::min(end - bottom, kPagesAtOnce * page);
    if (!AllMapped(begin, end)) return false;
    end = begin;
  }
  bounds->low = bottom;
  times = 0;
  return true;
}

}  // namespace rollcall::shim
