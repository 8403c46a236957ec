// SPDX-License-Identifier: Apache-2.0
#include "collector/base/process_table.h"

#include <sys/stat.h>

#include <string_view>
#include <vector>

#include "collector/base/proc_stat.h"
#include "collector/base/text.h"

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
  std::string status;
  proc.Read(directory + "/status", &status);
  // The ids are listed from this namespace to the innermost one. The last id is the process's own.
  const std::string_view ids = ProcStatusField(status, "NSpid");
  return ParseNumber<uint32_t>(ids.substr(ids.find_last_of(" \t") + 1)).value_or(0);
}

uint64_t ProcessTable::StartTicks(pid_t pid) const { return StartTicksOf(proc_, pid); }

uint64_t ProcessTable::NamespaceOf(pid_t pid) const {
  struct stat info;
  const std::string path = proc_.root() + PathOf(pid, "ns/pid");
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

ProcessTable::Result ProcessTable::Find(const RingWriter& writer) {
  if (writer.pid == 0 || writer.start_ticks == 0) return {};
  const auto same_number = static_cast<pid_t>(writer.pid);
  const bool may_be_here = writer.pid_namespace == 0 || writer.pid_namespace == own_namespace_;
  if (may_be_here && StartTicks(same_number) == writer.start_ticks) {
    return {Life::kFound, same_number};
  }
  if (may_be_here && writer.pid_namespace != 0) return {};
  if (!read_) {
    std::vector<int> pids;
    proc_.ListNumbers("/proc", &pids);
    for (const int pid : pids) by_start_ticks_.emplace(StartTicks(pid), pid);
    read_ = true;
  }
  std::vector<pid_t> undecided;
  const auto [first, end] = by_start_ticks_.equal_range(writer.start_ticks);
  for (auto it = first; it != end; ++it) {
    const pid_t pid = it->second;
    if (OwnNumber(proc_, "/proc/" + std::to_string(pid)) != writer.pid) continue;
    const uint64_t name_space = NamespaceOf(pid);  // requires permission to trace it
    if (name_space != 0 && name_space == writer.pid_namespace) return {Life::kFound, pid};
    if (name_space == 0 || writer.pid_namespace == 0) undecided.push_back(pid);
  }
  if (undecided.size() == 1 && writer.pid_namespace == 0) return {Life::kFound, undecided[0]};
  const bool sees_all = own_namespace_ == kInitialPidNamespace || writer.pid_namespace == 0;
  return {undecided.empty() && sees_all ? Life::kGone : Life::kHidden};
}

}  // namespace rollcall
