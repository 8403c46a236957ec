// Stacks of the threads of a core, by libunwind and its accessors for cores.
//
// libunwind takes what it reads on trust, and a core may be cut or crafted: it runs in a child
// process with a time limit, and what it finds comes back through a pipe. It sees a small core
// that is made for it out of what was checked (core_file.h), with the modules whose files are the
// same. docs/decisions/0022-libunwind-for-cores.md has the reasons.
#ifndef ROLLCALL_COLLECTOR_CORE_CORE_UNWINDER_H_
#define ROLLCALL_COLLECTOR_CORE_CORE_UNWINDER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "collector/core/core_process.h"
#include "collector/model/source_frame.h"
#include "proto/ring_format.h"

namespace rollcall {

struct CoreStack {
  std::vector<CodeAddress> frames;  // innermost first
  // The outermost frame that a signal interrupted: those in front of it are of the signal's
  // handler. 0: the innermost, no handler ran.
  size_t interrupted = 0;
  ring::StackEnd end = ring::StackEnd::kNone;
  std::string detail;  // why it ended, unless complete; for a person
};

struct CoreStacks {
  std::vector<CoreStack>
      threads;        // one for each of CoreFile::threads; those not reached: no frames
  std::string error;  // why libunwind did not finish: killed by a signal, no time left
};

struct CoreUnwindOptions {
  size_t max_frames = 256;                     // of a thread
  std::chrono::milliseconds deadline{20'000};  // for all threads
  // Called in the child in front of everything, by tests: for a library that crashes.
  std::function<void()> in_child{};
};

// Works from any thread. The child has neither signal handlers nor exit handlers of this process,
// and leaves no core of its own.
CoreStacks UnwindCore(const CoreProcess& process, const CoreUnwindOptions& options = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CORE_CORE_UNWINDER_H_
