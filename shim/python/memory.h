// SPDX-License-Identifier: Apache-2.0
// Reads memory that may be unmapped, because the interpreter may be damaged or ending.
//
// A pointer is dereferenced only if its page was found to be readable. The walk over frames
// (frames.h) reads in two ways. OwnMemory is for frames of the calling thread, which no other
// thread changes. CopiedMemory is for another thread's frames, which may be freed while they are
// read.
#ifndef ROLLCALL_SHIM_PYTHON_MEMORY_H_
#define ROLLCALL_SHIM_PYTHON_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <cstring>

namespace rollcall::shim::python {

template <typename T>
inline T Load(const unsigned char* at) {
  T value;
  memcpy(&value, at, sizeof(value));
  return value;
}

namespace pages {

inline constexpr uint32_t kPageBits = 12;  // the smallest page size
inline constexpr uint64_t kLimit = uint64_t{1} << 47;
inline constexpr uint32_t kSets = 4096;
inline constexpr uint32_t kWays = 4;
extern std::atomic<uint64_t> g_known[kSets][kWays];  // page numbers; 0: empty

// Asks the kernel whether the page is readable, and records it if so. Makes a system call; keeps
// errno.
bool ProbePage(uint64_t page);

inline bool IsKnown(uint64_t page) {
  for (const std::atomic<uint64_t>& way : g_known[(page ^ (page >> 12)) % kSets]) {
    if (way.load(std::memory_order_relaxed) == page) return true;
  }
  return false;
}

}  // namespace pages

// True if the kernel's answers about pages can be trusted (a sandbox may answer anything). Call it
// once, at the start.
bool CanProbePages();

// Forgets the pages that were readable: they may have been unmapped.
void ClearKnownPages();

// True if all of [address, address + bytes) was readable when its pages were first checked. The
// first check of a page is a system call; later checks are a few loads. Live frames are not
// unmapped while their thread runs them, so a stored result can be wrong only for a dangling
// pointer. ClearKnownPages() is therefore called when an interpreter ends. Any thread;
// async-signal-safe; keeps errno.
[[gnu::noinline]] inline bool IsReadable(uint64_t address, uint64_t bytes) {
  if (address < 4096 || address >= pages::kLimit || bytes >= pages::kLimit) return false;
  const uint64_t last = (address + bytes - 1) >> pages::kPageBits;
  for (uint64_t page = address >> pages::kPageBits; page <= last; ++page) {
    if (!pages::IsKnown(page) && !pages::ProbePage(page)) return false;
  }
  return true;
}

// A buffer of CopiedMemory. Data that is in use at the same time is read into different slots, so
// that the copies do not overwrite each other.
enum class Slot : uint8_t { kFrame, kCode, kName, kFile, kTable };
inline constexpr uint32_t kSlots = 5;

class OwnMemory {
 public:
  // Returns nullptr if the bytes cannot be read.
  [[gnu::always_inline]] const unsigned char* At(uint64_t address, uint64_t bytes, Slot slot) {
    // Successive reads through the same slot are mostly on one page.
    uint64_t& last = last_page_[static_cast<uint32_t>(slot)];
    const uint64_t page = address >> pages::kPageBits;
    if (page != last || (address + bytes - 1) >> pages::kPageBits != last || bytes > kMaxQuick) {
      if (!IsReadable(address, bytes)) return nullptr;
      last = page;
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const unsigned char*>(address);
  }

 private:
  static constexpr uint64_t kMaxQuick = uint64_t{1} << 20;  // address + bytes does not overflow
  static constexpr uint64_t kNoPage = ~uint64_t{0};
  uint64_t last_page_[kSlots] = {kNoPage, kNoPage, kNoPage, kNoPage, kNoPage};
};

// Each read is a system call (process_vm_readv on this process): an invalid address causes an
// error, not a signal. If the system call is forbidden, nothing can be read.
class CopiedMemory {
 public:
  static constexpr uint64_t kTableBytes = 32 << 10;
  struct Buffers {
    unsigned char frame[256];
    unsigned char code[1024];
    unsigned char name[8192];
    unsigned char file[8192];
    unsigned char table[kTableBytes + 8];
  };

  // This object must have exclusive use of `buffers` while it is used.
  explicit CopiedMemory(Buffers* buffers) : buffers_(buffers) {}
  const unsigned char* At(uint64_t address, uint64_t bytes, Slot slot);

 private:
  Buffers* buffers_;
};

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_MEMORY_H_
