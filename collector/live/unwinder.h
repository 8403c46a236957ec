// Call chains out of snapshots, by libdwfl over unwind tables of the modules.
#ifndef ROLLCALL_COLLECTOR_LIVE_UNWINDER_H_
#define ROLLCALL_COLLECTOR_LIVE_UNWINDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector/live/process_image.h"
#include "collector/live/thread_snapshot.h"
#include "collector/symbolize/elf_file.h"
#include "proto/ring_format.h"

namespace rollcall {

// What a function had in the registers that its callees must preserve, where it stands in a call
// (or, of the innermost one, where it stopped).
struct FrameRegisters {
#if defined(__aarch64__)
  static constexpr size_t kPreserved = 11;
#else
  static constexpr size_t kPreserved = 6;
#endif
  uint64_t stack_pointer = 0;                    // 0: unknown
  std::array<uint64_t, kPreserved> preserved{};  // 0 if unknown
};

struct UnwoundStack {
  std::vector<CodeAddress> frames;        // innermost first
  std::vector<FrameRegisters> registers;  // by frame
  // By frame: of what it and its callers have on the stack and in the registers that a callee must
  // preserve. Equal at two times, nothing that the stack tells has moved from that frame outwards.
  std::vector<uint64_t> digests;
  // Of all registers of the snapshot, but the instruction, and of the stack; 0: not all are known.
  uint64_t digest = 0;
  ring::StackEnd end = ring::StackEnd::kNone;
  std::string detail;  // why it ended, unless complete; for a person
};

// Not thread-safe. `image` and what it refers to must outlive it.
class Unwinder {
 public:
  // `file_root` is put in front of modules' paths: /proc/<pid>/root.
  Unwinder(const ProcessImage* image, pid_t pid, std::string file_root);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;
  Unwinder& operator=(const Unwinder&) = delete;

  UnwoundStack Unwind(const ThreadSnapshot& snapshot, size_t max_frames);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_UNWINDER_H_
