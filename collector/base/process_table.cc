#include "collector/base/process_table.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "collector/base/proc_stat.h"

namespace rollcall {
namespace {

std::string PathOf(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

uint64_t StartTicksOf(const ProcSource& proc, pid_t pid) {
  std::string stat;
  proc.Read(PathOf(pid, "stat"), &stat);
  return ProcStatStartTicks(stat);
}

}  // namespace

uint64_t ProcessStartTicks(pid_t pid) { return StartTicksOf(ProcSource(), pid); }

uint64_t OwnPidNamespace() {
  struct stat info;
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

uint32_t OwnNumber(const ProcSource& proc, const std::string& directory) {
  constexpr std::string_view kField = "\nNSpid:";
  std::string status;
  proc.Read(directory + "/status", &status);
  const size_t field = status.find(kField);
  if (field == std::string::npos) return 0;
  // From this namespace to its own.
  const size_t end = std::min(status.find('\n', field + 1), status.size());
  const size_t last = status.find_last_of(" \t", end - 1) + 1;
  uint32_t number = 0;
  std::from_chars(status.data() + last, status.data() + end, number);
  return number;
}

uint64_t ProcessTable::StartTicks(pid_t pid) const { return StartTicksOf(proc_, pid); }

bool ProcessTable::HasMapped(pid_t pid, const std::string& ring_name) const {
  std::string maps;
  proc_.Read(PathOf(pid, "maps"), &maps);
  return maps.find("/" + ring_name) != std::string::npos;
}

pid_t ProcessTable::Find(uint32_t own_pid, uint64_t start_ticks, const std::string& ring_name) {
  const auto same_number = static_cast<pid_t>(own_pid);
  if (own_pid == 0 || start_ticks == 0) return 0;
  if (StartTicks(same_number) == start_ticks) return same_number;
  if (!read_) {
    std::vector<int> pids;
    proc_.ListNumbers("/proc", &pids);
    for (const int pid : pids) by_start_ticks_.emplace(StartTicks(pid), pid);
    read_ = true;
  }
  pid_t found = 0;
  const auto [first, end] = by_start_ticks_.equal_range(start_ticks);
  for (auto it = first; it != end; ++it) {
    if (OwnNumber(proc_, "/proc/" + std::to_string(it->second)) != own_pid) continue;
    if (HasMapped(it->second, ring_name)) return it->second;
    // Its maps may not be readable, or it has ended and nobody has waited for it.
    found = it->second;
  }
  return found;
}

}  // namespace rollcall
