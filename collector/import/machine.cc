// SPDX-License-Identifier: Apache-2.0
#include "collector/import/machine.h"

#include <fmt/core.h>
#include <unistd.h>

#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "collector/base/clock.h"
#include "collector/base/proc_stat.h"
#include "collector/base/process_table.h"

namespace rollcall {
namespace {

class RealMachine : public Machine {
 public:
  std::string Hostname() override {
    char name[256] = {};
    if (gethostname(name, sizeof(name) - 1) != 0) return {};
    return name;
  }

  Life LifeOf(const ring::FileHeader& header) override {
    const ProcessTable::Result found = Find(header);
    if (found.life == ProcessTable::Life::kHidden) return Life::kUnknown;
    std::string stat;
    ProcSource().Read(fmt::format("/proc/{}/stat", found.pid), &stat);
    const std::string_view state = ProcStatField(stat, 3);
    const bool dead = state == "Z" || state == "X";  // not yet waited for
    return !dead && found.pid != 0 && ProcStatStartTicks(stat) == header.process_start_ticks
               ? Life::kAlive
               : Life::kGone;
  }

  MemoryRings FindMemoryRings(uid_t user) override { return rollcall::FindMemoryRings(user); }

  int64_t NowNs() override { return Now(CLOCK_REALTIME); }

  void Wait(std::chrono::milliseconds time) override { std::this_thread::sleep_for(time); }

 private:
  // /proc is read once a second at most, and not for each ring.
  ProcessTable::Result Find(const ring::FileHeader& header) {
    const std::lock_guard lock(mutex_);
    const int64_t now_ns = Now(CLOCK_MONOTONIC);
    if (!processes_ || now_ns - read_ns_ > 1'000'000'000) {
      processes_.emplace();
      read_ns_ = now_ns;
    }
    return processes_->Find({header.pid, header.process_start_ticks, header.pid_namespace});
  }

  std::mutex mutex_;
  std::optional<ProcessTable> processes_;
  int64_t read_ns_ = 0;
};

}  // namespace

Machine& ThisMachine() {
  static RealMachine machine;
  return machine;
}

}  // namespace rollcall
