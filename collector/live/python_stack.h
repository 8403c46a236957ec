// The Python frames of a thread of another process.
//
// The chain of frames is a thread's own: it is read while the thread is held or blocked, by
// process_vm_readv, without the GIL and without running anything in the process. Whatever that
// memory holds is taken for hostile: depth, lengths and time are bounded, each object must have the
// type that it should have, and a chain that cannot be right is unreadable, with the reason.
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
  bool entry = false;  // the outermost of those that one call of the interpreter's loop runs
  // As PythonLocals has them, where they were asked for.
  std::vector<PythonInteger> integers{};
  uint64_t digest = 0;

  bool operator==(const LivePythonFrame&) const = default;
};

struct PythonStack {
  // kNone: the process has no Python. kUnchecked: not asked, or which of the interpreter's threads
  // this is was not to be told.
  ring::PythonEnd end = ring::PythonEnd::kNone;
  std::vector<LivePythonFrame> frames;  // innermost first; also those in front of a damaged one
  std::string detail;                   // with kUnreadable, kOff and kUnchecked: why; for a person
};

inline constexpr size_t kMaxLivePythonFrames = 128;

// The chain that starts at thread state `state`, with the frames' PythonLocals if `locals`. Stops
// with what it has at `deadline`.
PythonStack ReadPythonFrames(const ProcessMemory& memory, const PythonInterpreter& interpreter,
                             uint64_t state, std::chrono::steady_clock::time_point deadline,
                             bool locals = false);

// The Python side of one process at one time. Not thread-safe; `image` must outlive it.
class PythonReader {
 public:
  // `file_root`: see FindPythonInterpreter(). `patience`: for the frames of one thread, which may
  // be held meanwhile.
  PythonReader(const ProcessImage* image, const std::string& file_root,
               std::chrono::milliseconds patience = std::chrono::milliseconds(50));

  // Whether there is an interpreter of a known version.
  bool present() const { return presence_ == PythonPresence::kKnown; }

  // The frames of a thread that does not move now. `native_id` is its number as the process itself
  // sees it (NSpid in /proc/<pid>/task/<tid>/status), 0 if unknown; `thread_pointer` the value of
  // its pthread_self() (fs_base on x86-64), likewise. One of them is enough from 3.11 on; before,
  // it takes the pointer, or `is_main`: the thread that began the process.
  PythonStack Read(uint64_t native_id, uint64_t thread_pointer, bool is_main,
                   bool locals = false) const;

 private:
  bool IsThread(const PythonThread& thread, uint64_t native_id, uint64_t thread_pointer,
                bool is_main) const;

  const ProcessImage* image_;
  const std::chrono::milliseconds patience_;
  PythonPresence presence_ = PythonPresence::kAbsent;
  PythonInterpreter interpreter_;
  PythonThreads threads_;
  std::string why_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_STACK_H_
