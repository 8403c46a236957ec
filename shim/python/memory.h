// Memory that may have gone: what a damaged or vanishing interpreter points to.
//
// A pointer is dereferenced only if its page was seen to be readable. Two ways to read serve the
// walk over frames (frames.h): OwnMemory for the frames of the calling thread, which nobody else
// changes; CopiedMemory for another thread's, which may go away while they are read.
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

inline constexpr uint32_t kPageBits = 12;  // the smallest there is
inline constexpr uint64_t kLimit = uint64_t{1} << 47;
inline constexpr uint32_t kSets = 4096;
inline constexpr uint32_t kWays = 4;
extern std::atomic<uint64_t> g_known[kSets][kWays];  // page numbers; 0: empty

// Asks the kernel; makes a system call, keeps errno.
bool Learn(uint64_t page);

inline bool IsKnown(uint64_t page) {
  for (const std::atomic<uint64_t>& way : g_known[(page ^ (page >> 12)) % kSets]) {
    if (way.load(std::memory_order_relaxed) == page) return true;
  }
  return false;
}

}  // namespace pages

// Whether the kernel can be asked about pages here at all (a sandbox may answer anything). Once, at
// the start.
bool CanProbePages();

// Forgets what was seen: pages may have been unmapped.
void ForgetPages();

// Whether all of [address, address + bytes) could be read when it was first asked for. A page's
// first sight is a system call; after that a few loads. Live frames are never unmapped under the
// thread that runs them, so that an old answer can mislead only about a pointer that dangles: hence
// ForgetPages() when interpreters end. Any thread; async-signal-safe; keeps errno.
[[gnu::noinline]] inline bool IsReadable(uint64_t address, uint64_t bytes) {
  if (address < 4096 || address >= pages::kLimit || bytes >= pages::kLimit) return false;
  const uint64_t last = (address + bytes - 1) >> pages::kPageBits;
  for (uint64_t page = address >> pages::kPageBits; page <= last; ++page) {
    if (!pages::IsKnown(page) && !pages::Learn(page)) return false;
  }
  return true;
}

// What is read at the same time lies in different slots, so that a copy of one does not overwrite
// another's.
enum class Slot : uint8_t { kFrame, kCode, kName, kFile, kTable };
inline constexpr uint32_t kSlots = 5;

class OwnMemory {
 public:
  // nullptr if it cannot be read.
  [[gnu::always_inline]] const unsigned char* At(uint64_t address, uint64_t bytes, Slot slot) {
    // What is read one after the other for the same purpose is mostly on one page.
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
  static constexpr uint64_t kMaxQuick = uint64_t{1} << 20;  // no sum overflows
  static constexpr uint64_t kNoPage = ~uint64_t{0};
  uint64_t last_page_[kSlots] = {kNoPage, kNoPage, kNoPage, kNoPage, kNoPage};
};

// A system call (process_vm_readv on ourselves) a time: an address that has become invalid gives an
// error and no signal. Where it is forbidden, nothing can be read.
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

  // `buffers` for this object alone, as long as it is used.
  explicit CopiedMemory(Buffers* buffers) : buffers_(buffers) {}
  const unsigned char* At(uint64_t address, uint64_t bytes, Slot slot);

 private:
  Buffers* buffers_;
};

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_MEMORY_H_
