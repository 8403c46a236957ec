// SPDX-License-Identifier: Apache-2.0
// Processes that stand for ranks and do nothing.
#ifndef ROLLCALL_TESTS_SWARM_SLEEPERS_H_
#define ROLLCALL_TESTS_SWARM_SLEEPERS_H_

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "collector/base/proc_stat.h"
#include "tests/support/ring_job_files.h"
#include "tests/swarm/collector_process.h"

namespace rollcall::swarm {

// They end with this object, or with the thread that made it.
class Sleepers {
 public:
  explicit Sleepers(int32_t count) {
    std::string program = ROLLCALL_SLEEPER;
    std::string parent = std::to_string(getpid());
    char* arguments[] = {program.data(), parent.data(), nullptr};
    for (int32_t i = 0; i < count; ++i) {
      pid_t pid = -1;
      if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, nullptr) != 0) {
        throw std::runtime_error("posix_spawn");
      }
      const std::string stat = ReadFile(fmt::format("/proc/{}/stat", pid));
      processes_.push_back({static_cast<uint32_t>(pid), ProcStatStartTicks(stat)});
    }
  }
  ~Sleepers() {
    for (const ring_job::RankProcess& process : processes_)
      kill(static_cast<pid_t>(process.pid), SIGKILL);
    for (const ring_job::RankProcess& process : processes_) {
      waitpid(static_cast<pid_t>(process.pid), nullptr, 0);
    }
  }
  const ring_job::RankProcess& operator[](int32_t rank) const {
    return processes_[static_cast<size_t>(rank)];
  }

 private:
  std::vector<ring_job::RankProcess> processes_;
};

}  // namespace rollcall::swarm

#endif  // ROLLCALL_TESTS_SWARM_SLEEPERS_H_
