// The stacks of a running process, taken from outside and without harm to it.
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
  kUndisturbed,  // blocked anyway: read from /proc and memory, the thread noticed nothing
  kStopped,      // stopped by ptrace: for some ten microseconds, and a few more each Python frame
};

struct LiveThread {
  pid_t tid = 0;
  std::string name;
  CaptureMethod method = CaptureMethod::kNone;
  std::vector<CodeAddress> frames;        // native ones, innermost first
  std::vector<uint64_t> digests;          // by frame: UnwoundStack::digests
  std::vector<FrameRegisters> registers;  // by frame
  // Of all its registers, but the instruction, and of its stack; 0: not all are known.
  uint64_t digest = 0;
  std::vector<uint64_t> more_digests;
  ring::StackEnd end = ring::StackEnd::kNone;
  std::string detail;  // why the stack ends, or could not be taken; empty if complete
  PythonStack python;  // of the same moment as `frames`
};

struct LiveStacks {
  std::vector<LiveThread> threads;  // the main thread first, or the one that was asked for alone
  size_t threads_left_out = 0;      // beyond max_threads
  // Why there is nothing, or less than there could be, with the setting that would allow it.
  std::string error;
  std::chrono::nanoseconds took{0};
};

struct LiveStackOptions {
  pid_t tid = 0;  // 0: all threads
  size_t max_threads = 128;
  size_t max_frames = 256;
  std::chrono::milliseconds deadline{500};  // for everything; threads not reached say so
  // A thread that is to stop, and does not: it is in an uninterruptible wait.
  std::chrono::milliseconds stop_deadline{50};
  // Never stop a thread, whatever stays unknown then.
  bool undisturbed_only = false;
  // Read what Python frames compute with as well (PythonLocals): the thread is held some ten
  // microseconds more for each of its frames, within the same limit.
  bool python_locals = false;
  // Of each thread that was stopped: so many more digests, a millisecond apart, and stopped for
  // each.
  int more_digests = 0;
  PtraceFunction ptrace{};  // empty: the real one
};

// Threads that are blocked are read without stopping them. Where that does not reach the outermost
// frame (a frame needs more registers than /proc shows) or does not tell which of Python's threads
// (to 3.10) it is, and for threads that run, the thread is
// stopped for a moment by PTRACE_SEIZE, unless it is in a call that would fail by it; see
// SnapshotTaker for what the process may notice: nothing but the time.
//
// Tracing happens in a thread of its own, which ends before this returns: thus even a thread that
// did not stop in time is let go of, and cannot stop later. Works from any thread; concurrent calls
// on one process disturb each other (one tracer at a time) and then say so. Needs the same rights
// as a debugger. Does not verify that `pid` is the process meant: compare start_ticks of
// ReadProcessState before.
LiveStacks CaptureLiveStacks(const ProcSource& proc, pid_t pid,
                             const LiveStackOptions& options = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_LIVE_STACK_H_
