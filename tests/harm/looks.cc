// Looks at processes as `rollcall attach` does, one look for each line of standard input:
//
//   look PID    all threads
//   read PID    the same, but nobody is stopped
//
// and answers with a line: the number of threads that were read undisturbed, that were stopped, and
// of which no stack was taken.
#include <sys/types.h>

#include <array>
#include <chrono>
#include <iostream>
#include <string>

#include "collector/base/proc_source.h"
#include "collector/live/live_stack.h"

int main() {
  using rollcall::CaptureMethod;
  const rollcall::ProcSource proc;
  std::string what;
  pid_t pid = 0;
  while (std::cin >> what >> pid) {
    const rollcall::LiveStacks stacks =
        CaptureLiveStacks(proc, pid,
                          {.deadline = std::chrono::seconds(20),
                           .undisturbed_only = what == "read",
                           .python_locals = true});
    if (!stacks.error.empty()) std::cerr << "looks: " << stacks.error << '\n';
    std::array<size_t, 3> threads{};
    for (const rollcall::LiveThread& thread : stacks.threads) {
      const bool stopped = thread.method == CaptureMethod::kStopped;
      ++threads[thread.frames.empty() ? 2 : stopped ? 1 : 0];
    }
    std::cout << threads[0] << ' ' << threads[1] << ' ' << threads[2] << std::endl;
  }
  return 0;
}
