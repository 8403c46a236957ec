// SPDX-License-Identifier: Apache-2.0
#include "collector/live/process_watch.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "collector/base/proc_source.h"
#include "collector/base/proc_stat.h"
#include "collector/base/process_table.h"
#include "collector/base/text.h"

namespace rollcall {
namespace {

// Not in the headers of glibc 2.36: the interface of include/uapi/linux/pidfd.h, in its first
// published size.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup_id;
  uint32_t pid, tgid, ppid;
  uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kPidfdInfoExit = 1 << 3;
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

std::string ReadStat(pid_t pid) {
  std::string text;
  ProcSource().Read("/proc/" + std::to_string(pid) + "/stat", &text, 4096);
  return text;
}

}  // namespace

int64_t ProcessCpuNs(pid_t pid) {
  clockid_t clock;
  timespec time;
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

bool IsZombie(pid_t pid) { return ProcStatField(ReadStat(pid), 3) == "Z"; }

std::optional<int> ZombieStatus(pid_t pid, uint64_t start_ticks) {
  const std::string stat = ReadStat(pid);
  if (ProcStatField(stat, 3) != "Z" || ProcStatStartTicks(stat) != start_ticks) return std::nullopt;
  const auto status = ParseNumber<int>(ProcStatField(stat, 52));
  return status && *status != 0 ? status : std::nullopt;
}

EndReports FindEndReports() {
  ProcessWatch watch;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child < 0) return EndReports::kToParentOnly;
  const bool watched = watch.Open(child, 0);
  waitpid(child, nullptr, 0);
  if (!watched) return EndReports::kNoPidfds;
  return watch.WaitStatus().has_value() ? EndReports::kToPidfds : EndReports::kToParentOnly;
}

bool ProcessWatch::Open(pid_t pid, uint64_t start_ticks) {
  if (pid <= 0) return false;
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return false;
  // Once the pidfd is open, a reused pid is detected by its start time.
  if (start_ticks != 0 && ProcessStartTicks(pid) != start_ticks) return false;
  pidfd_ = std::move(fd);
  return true;
}

bool ProcessWatch::HasEnded() const {
  pollfd poll_entry = {pidfd_.get(), POLLIN, 0};
  return pidfd_ && poll(&poll_entry, 1, 0) > 0;
}

std::optional<int> ProcessWatch::WaitStatus() const {
  if (!pidfd_) return std::nullopt;
  PidfdInfo info = {};
  info.mask = kPidfdInfoExit;
  if (ioctl(pidfd_.get(), kPidfdGetInfo, &info) != 0 || (info.mask & kPidfdInfoExit) == 0) {
    return std::nullopt;
  }
  return info.exit_code;
}

bool ProcessWatch::Signal(int signal) const {
  return pidfd_ && syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) == 0;
}

}  // namespace rollcall
