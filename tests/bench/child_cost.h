// SPDX-License-Identifier: Apache-2.0
// What a piece of work costs, in a process of its own: so that its memory can be told, and nothing
// of it is left for the next one.
#ifndef ROLLCALL_TESTS_BENCH_CHILD_COST_H_
#define ROLLCALL_TESTS_BENCH_CHILD_COST_H_

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>

namespace rollcall {

struct ChildCost {
  double cpu_s = 0;  // of all threads, user and system
  double wall_s = 0;
  double peak_mb = 0;  // resident
  bool good = false;   // what the work returned; false if it was killed
};

inline ChildCost RunInChild(const std::function<bool()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = -1;
  rusage usage{};
  ChildCost cost;
  cost.good = child > 0 && wait4(child, &status, 0, &usage) == child && WIFEXITED(status) &&
              WEXITSTATUS(status) == 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  cost.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  cost.peak_mb = static_cast<double>(usage.ru_maxrss) * 1024e-6;
  return cost;
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_BENCH_CHILD_COST_H_
