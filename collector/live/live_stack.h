// SPDX-License-Identifier: Apache-2.0
// Takes the stacks of a running process from outside, without harming it.
#ifndef ROLLCALL_COLLECTOR_LIVE_LIVE_STACK_H_
#define ROLLCALL_COLLECTOR_LIVE_LIVE_STACK_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "collector/base/proc_source.h"
#include "collector/live/python_stack.h"
#include "collector/live/thread_snapshot.h"
#include "collector/live/unwinder.h"

namespace rollcall {

enum class CaptureMethod : uint8_t {
  kNone,
  kUndisturbed,  // blocked already: read from /proc and memory; the thread noticed nothing
  kStopped,      // stopped by ptrace for about ten microseconds, plus a few per Python frame
};

struct LiveThread {
  pid_t tid = 0;
  std::string name;
  CaptureMethod method = CaptureMethod::kNone;
  std::vector<CodeAddress> frames;        // native ones, innermost first
  std::vector<uint64_t> digests;          // by frame: UnwoundStack::digests
  std::vector<FrameRegisters> registers;  // by frame
  // Hash of all its registers except the instruction pointer, and of its stack; 0: not all are
  // known.
  uint64_t digest = 0;
  std::vector<uint64_t> more_digests;
  ring::StackEnd end = ring::StackEnd::kNone;
  std::string detail;  // why the stack ends early or could not be taken; empty if complete
  PythonStack python;  // of the same moment as `frames`
};

struct LiveStacks {
  std::vector<LiveThread> threads;  // the main thread first, or only the requested one
  size_t threads_left_out = 0;      // beyond max_threads
  // Why stacks are missing, with the setting that would allow them.
  std::string error;
  std::chrono::nanoseconds took{0};
};

struct LiveStackOptions {
  pid_t tid = 0;  // 0: all threads
  size_t max_threads = 128;
  size_t max_frames = 256;
  std::chrono::milliseconds deadline{500};  // for all threads; `detail` names unreached ones
  // Time for a thread to stop. One that does not is in an uninterruptible wait.
  std::chrono::milliseconds stop_deadline{50};
  // Never stop a thread, even if stacks stay incomplete.
  bool undisturbed_only = false;
  // Also read the variables of Python frames (PythonLocals): the thread is held about ten
  // microseconds longer per Python frame, within the same limit.
  bool python_locals = false;
  std::vector<std::string> python_asked = {};  // what else to read: see ReadPythonLocals()
  // Number of additional digests of each stopped thread, a millisecond apart; the thread is stopped
  // for each.
  int more_digests = 0;
  PtraceFunction ptrace{};  // empty: the real one
};

// Blocked threads are read without stopping them. A thread is stopped briefly by PTRACE_SEIZE in
// three cases: it runs; reading does not reach its outermost frame (a frame needs registers that
// /proc does not show); its Python thread cannot be identified (up to 3.10). A thread in a call
// that would fail because of the stop is never stopped. The process can notice only the time that
// passes; see SnapshotTaker.
//
// Tracing happens in a separate thread that ends before this returns. Its end makes the kernel
// release even a thread that did not stop in time, so that thread cannot stop later. May be called
// from any thread. There is only one tracer at a time: concurrent calls on one process interfere,
// and then report it. Needs the same rights as a debugger. Does not verify that `pid` is the
// intended process: compare start_ticks of ReadProcessState before.
LiveStacks CaptureLiveStacks(const ProcSource& proc, pid_t pid,
                             const LiveStackOptions& options = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_LIVE_STACK_H_
