// SPDX-License-Identifier: Apache-2.0
// Looks at processes as `rollcall attach` does, one look for each line of standard input:
//
//   look PID    all threads
//   read PID    the same, but nobody is stopped
//
// and answers with a line: the number of threads that were read undisturbed, that were stopped, and
// of which no stack was taken, and for how many nanoseconds a thread was held at most.
#include <sys/ptrace.h>
#include <sys/types.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

#include "collector/base/clock.h"
#include "collector/base/proc_source.h"
#include "collector/live/live_stack.h"
#include "collector/live/thread_snapshot.h"

int main() {
  using rollcall::CaptureMethod;
  const rollcall::ProcSource proc;
  std::string what;
  pid_t pid = 0;
  int64_t begun_ns = 0;
  int64_t held_ns = 0;
  const rollcall::PtraceFunction real = rollcall::RealPtrace();
  const rollcall::PtraceFunction timed = [&](int request, pid_t tid, void* address, void* data) {
    if (request == PTRACE_INTERRUPT) begun_ns = rollcall::Now(CLOCK_MONOTONIC);
    const long result = real(request, tid, address, data);
    if (request == PTRACE_DETACH) {
      held_ns = std::max(held_ns, rollcall::Now(CLOCK_MONOTONIC) - begun_ns);
    }
    return result;
  };
  while (std::cin >> what >> pid) {
    held_ns = 0;
    const rollcall::LiveStacks stacks = CaptureLiveStacks(proc, pid,
                                                          {.deadline = std::chrono::seconds(20),
                                                           .undisturbed_only = what == "read",
                                                           .python_locals = true,
                                                           .ptrace = timed});
    if (!stacks.error.empty()) std::cerr << "looks: " << stacks.error << '\n';
    std::array<size_t, 3> threads{};
    for (const rollcall::LiveThread& thread : stacks.threads) {
      const bool stopped = thread.method == CaptureMethod::kStopped;
      ++threads[thread.frames.empty() ? 2 : stopped ? 1 : 0];
    }
    std::cout << threads[0] << ' ' << threads[1] << ' ' << threads[2] << ' ' << held_ns
              << std::endl;
  }
  return 0;
}
