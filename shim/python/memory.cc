// SPDX-License-Identifier: Apache-2.0
#include "shim/python/memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "shim/platform.h"

namespace rollcall::shim::python {

namespace pages {

constinit std::atomic<uint64_t> g_known[kSets][kWays];

namespace {

// True if the 8 bytes at `address` are readable. rt_sigprocmask(2) with an invalid `how` changes
// nothing: the kernel first copies the new set, and returns EFAULT if it cannot copy, else EINVAL.
// This call needs no descriptor and no permission, and works where process_vm_readv is forbidden.
bool Probe(uint64_t address) {
  constexpr long kInvalidHow = 0x7fffffff;
  constexpr size_t kSetBytes = 8;
  const ErrnoGuard keeper;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto* set = reinterpret_cast<const void*>(address);
  return syscall(SYS_rt_sigprocmask, kInvalidHow, set, nullptr, kSetBytes) == -1 && errno == EINVAL;
}

}  // namespace

ROLLCALL_COLD bool ProbePage(uint64_t page) {
  if (!Probe(page << kPageBits)) return false;
  std::atomic<uint64_t>(&ways)[kWays] = g_known[(page ^ (page >> 12)) % kSets];
  for (std::atomic<uint64_t>& way : ways) {
    uint64_t empty = 0;
    if (way.compare_exchange_strong(empty, page, std::memory_order_relaxed)) return true;
  }
  // Replace one of the entries, depending on the page.
  ways[(page >> 3) % kWays].store(page, std::memory_order_relaxed);
  return true;
}

}  // namespace pages

bool CanProbePages() {
  const uint64_t here = 0;
  // The last page of the address space is never mapped.
  return pages::Probe(reinterpret_cast<uint64_t>(&here)) &&
         !pages::Probe(pages::kLimit - (uint64_t{1} << pages::kPageBits));
}

void ClearKnownPages() {
  for (auto& set : pages::g_known) {
    for (std::atomic<uint64_t>& way : set) way.store(0, std::memory_order_relaxed);
  }
}

const unsigned char* CopiedMemory::At(uint64_t address, uint64_t bytes, Slot slot) {
  unsigned char* to = nullptr;
  uint64_t room = 0;
  switch (slot) {
    case Slot::kFrame:
      to = buffers_->frame, room = sizeof(buffers_->frame);
      break;
    case Slot::kCode:
      to = buffers_->code, room = sizeof(buffers_->code);
      break;
    case Slot::kName:
      to = buffers_->name, room = sizeof(buffers_->name);
      break;
    case Slot::kFile:
      to = buffers_->file, room = sizeof(buffers_->file);
      break;
    case Slot::kTable:
      to = buffers_->table, room = sizeof(buffers_->table);
      break;
  }
  if (bytes > room || address < 4096 || address >= pages::kLimit) return nullptr;
  const ErrnoGuard keeper;
  const iovec local{to, bytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return got == static_cast<ssize_t>(bytes) ? to : nullptr;
}

}  // namespace rollcall::shim::python
