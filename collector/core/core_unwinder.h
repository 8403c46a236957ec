// SPDX-License-Identifier: Apache-2.0
// Unwinds the threads of a core with libunwind and its accessors for cores.
//
// libunwind trusts its input, and a core may be truncated or malicious. libunwind therefore runs in
// a child process with a time limit, and its result comes back through a pipe. Its input is a small
// core made from checked data (core_file.h), with the modules whose files are the same.
// docs/decisions/0022-libunwind-for-cores.md has the reasons.
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
  // Index of the outermost frame that a signal interrupted. The frames before it belong to signal
  // handlers. 0: no handler was running.
  size_t interrupted = 0;
  ring::StackEnd end = ring::StackEnd::kNone;
  std::string detail;  // why it ended, unless complete; for the user
};

struct CoreStacks {
  std::vector<CoreStack>
      threads;        // one for each of CoreFile::threads; without frames if not reached
  std::string error;  // why libunwind did not finish: killed by a signal, or out of time
};

struct CoreUnwindOptions {
  size_t max_frames = 256;                     // of a thread
  std::chrono::milliseconds deadline{20'000};  // for all threads
  // For tests: called first in the child, to simulate a library that crashes.
  std::function<void()> in_child{};
};

// Works from any thread. The child runs no signal handlers or exit handlers of this process, and
// leaves no core.
CoreStacks UnwindCore(const CoreProcess& process, const CoreUnwindOptions& options = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CORE_CORE_UNWINDER_H_
