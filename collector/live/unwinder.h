// SPDX-License-Identifier: Apache-2.0
// Unwinds snapshots into call chains, with libdwfl and the modules' unwind tables.
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

// The callee-saved registers of a function at its current call (or, for the innermost one, where it
// stopped).
struct FrameRegisters {
  // DWARF numbers: System V x86-64 ABI, figure 3.4; AAPCS64, 6.1.1.
#if defined(__aarch64__)
  static constexpr int kStackPointer = 31;
  static constexpr std::array<unsigned, 11> kPreserved = {19, 20, 21, 22, 23, 24,
                                                          25, 26, 27, 28, 29};
#else
  static constexpr int kStackPointer = 7;
  static constexpr std::array<unsigned, 6> kPreserved = {3, 6, 12, 13, 14, 15};
#endif
  uint64_t stack_pointer = 0;                           // 0: unknown
  std::array<uint64_t, kPreserved.size()> preserved{};  // 0 if unknown
  std::array<bool, kPreserved.size()> known{};          // by register of `preserved`
};

struct UnwoundStack {
  std::vector<CodeAddress> frames;        // innermost first
  std::vector<FrameRegisters> registers;  // by frame
  // By frame: hash of the stack of the frame and its callers, and of the frame's callee-saved
  // registers. If the hashes at two times are equal, nothing on the stack has changed from that
  // frame outwards.
  std::vector<uint64_t> digests;
  // Hash of all registers of the snapshot except the instruction pointer, and of the stack; 0: not
  // all are known.
  uint64_t digest = 0;
  ring::StackEnd end = ring::StackEnd::kNone;
  std::string detail;  // why it ended, if incomplete; readable text
};

// Not thread-safe. `image` and the objects that it refers to must outlive it.
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
