// SPDX-License-Identifier: Apache-2.0
#include "collector/live/thread_ids.h"

#include <string>
#include <vector>

#include "collector/base/find.h"
#include "collector/base/process_table.h"

namespace rollcall {
namespace {

pid_t Find(const std::map<pid_t, pid_t>& ids, pid_t number) { return FindOr(ids, number, 0); }

}  // namespace

ThreadIds::ThreadIds(const ProcSource& proc, pid_t pid, uint32_t own_pid)
    : same_(static_cast<uint32_t>(pid) == own_pid) {
  if (same_) return;
  const std::string directory = "/proc/" + std::to_string(pid) + "/task";
  std::vector<int> tids;
  proc.ListNumbers(directory, &tids);
  for (const int tid : tids) {
    const auto own = static_cast<pid_t>(OwnNumber(proc, directory + "/" + std::to_string(tid)));
    if (own == 0) continue;
    own_by_tid_[tid] = own;
    tid_by_own_[own] = tid;
  }
}

pid_t ThreadIds::ToOwnId(pid_t tid) const { return same_ ? tid : Find(own_by_tid_, tid); }

pid_t ThreadIds::ToLocalId(pid_t own) const { return same_ ? own : Find(tid_by_own_, own); }

}  // namespace rollcall
