// SPDX-License-Identifier: Apache-2.0
// Reads the Python frames of a thread of another process.
//
// The chain of frames belongs to its thread. It is read while the thread is held or blocked, by
// process_vm_readv, without the GIL and without running anything in the process. The memory is
// untrusted: depth, lengths and time are bounded, and each object must have the expected type. An
// inconsistent chain is reported as unreadable, with the reason.
#ifndef ROLLCALL_COLLECTOR_LIVE_PYTHON_STACK_H_
#define ROLLCALL_COLLECTOR_LIVE_PYTHON_STACK_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/live/process_image.h"
#include "collector/live/python_interpreter.h"
#include "collector/live/python_locals.h"
#include "collector/model/source_frame.h"
#include "proto/ring_format.h"

namespace rollcall {

struct LivePythonFrame {
  SourceFrame frame;
  bool entry = false;  // the outermost frame of one call of the interpreter's loop
  // As in PythonLocals, if requested.
  std::vector<PythonInteger> integers{};
  std::vector<Variable> variables{};
  uint64_t digest = 0;

  bool operator==(const LivePythonFrame&) const = default;
};

struct PythonStack {
  // kNone: the process has no Python. kUnchecked: not requested, or the interpreter's thread could
  // not be identified.
  ring::PythonEnd end = ring::PythonEnd::kNone;
  std::vector<LivePythonFrame> frames;  // innermost first; includes those read before a damaged one
  std::string detail;                   // readable reason for kUnreadable, kOff and kUnchecked
};

inline constexpr size_t kMaxLivePythonFrames = 128;

// Reads the chain that starts at thread state `state`, with the frames' PythonLocals if `locals`,
// and what is `asked` for (ReadPythonLocals()).
// Returns the frames that it has read by `deadline`.
PythonStack ReadPythonFrames(const ProcessMemory& memory, const PythonInterpreter& interpreter,
                             uint64_t state, std::chrono::steady_clock::time_point deadline,
                             bool locals = false, const std::vector<std::string>& asked = {});

// The Python state of one process at one time. Not thread-safe; `image` must outlive it.
class PythonReader {
 public:
  // `file_root`: see FindPythonInterpreter(). `timeout`: time limit for the frames of one thread,
  // which may be held meanwhile.
  PythonReader(const ProcessImage* image, const std::string& file_root,
               std::chrono::milliseconds timeout = std::chrono::milliseconds(50));

  // Whether there is an interpreter of a known version.
  bool present() const { return presence_ == PythonPresence::kKnown; }

  // Reads the frames of a thread that is currently not moving. `native_id` is its id in the
  // process's own pid namespace (NSpid in /proc/<pid>/task/<tid>/status). `thread_pointer` is the
  // value of its pthread_self() (fs_base on x86-64). Each of them is 0 if unknown. `is_main`: the
  // thread is the process's initial thread. From 3.11 on, `native_id` or `thread_pointer` is
  // sufficient. Before 3.11, `thread_pointer` or `is_main` is required.
  PythonStack Read(uint64_t native_id, uint64_t thread_pointer, bool is_main, bool locals = false,
                   const std::vector<std::string>& asked = {}) const;

 private:
  bool IsThread(const PythonThread& thread, uint64_t native_id, uint64_t thread_pointer,
                bool is_main) const;

  const ProcessImage* image_;
  const std::chrono::milliseconds timeout_;
  PythonPresence presence_ = PythonPresence::kAbsent;
  PythonInterpreter interpreter_;
  PythonThreads threads_;
  std::string why_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_STACK_H_
