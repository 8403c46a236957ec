// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/detectors/window_locks.h"

#include <algorithm>
#include <map>
#include <set>

namespace rollcall {
namespace {

bool Locks(Operation operation) {
  return operation == Operation::kWin_lock || operation == Operation::kWin_lock_all;
}

// The call in which a process waits, as a lock; a lock of any target if the call names none.
WindowLock AwaitedBy(const Analysis& analysis, uint32_t process) {
  const Event& event = analysis.graph.processes[process].open->event;
  const int32_t target = analysis.Args(event).root_or_peer;
  return {process, target < 0 ? -1 : target, &event};
}

}  // namespace

std::vector<WindowLock> LocksHeld(const Analysis& analysis, uint32_t window) {
  std::vector<WindowLock> held;
  for (uint32_t p = 0; p < analysis.trace.processes.size(); ++p) {
    std::map<int32_t, const Event*> locks;  // by target; -1: all
    for (const Event& event : analysis.trace.processes[p].p2p) {
      if (event.member == kNoIndex || analysis.CommunicatorOf(event) != window) continue;
      const Arguments& arguments = analysis.Args(event);
      const bool got = event.end_ns != kNoTime;
      if (arguments.operation == Operation::kWin_lock && got) {
        locks[arguments.root_or_peer] = &event;
      }
      if (arguments.operation == Operation::kWin_lock_all && got) locks[-1] = &event;
      if (arguments.operation == Operation::kWin_unlock) locks.erase(arguments.root_or_peer);
      if (arguments.operation == Operation::kWin_unlock_all) locks.erase(-1);
    }
    for (const auto& [target, event] : locks) held.push_back({p, target, event});
  }
  return held;
}

uint32_t HolderOf(const Analysis& analysis, uint32_t window, const std::vector<uint32_t>& waiting) {
  std::set<uint32_t> again;
  std::set<uint32_t> elsewhere;
  const std::vector<WindowLock> held = LocksHeld(analysis, window);
  for (const uint32_t p : waiting) {
    const WindowLock awaited = AwaitedBy(analysis, p);
    for (const WindowLock& lock : held) {
      if (!lock.Overlaps(awaited)) continue;
      if (lock.process == p) {
        if (Locks(analysis.Op(*awaited.event))) again.insert(p);
      } else if (!Contains(waiting, lock.process)) {
        elsewhere.insert(lock.process);
      }
    }
  }
  const std::set<uint32_t>& holders = again.empty() ? elsewhere : again;
  return holders.size() == 1 ? *holders.begin() : kNoIndex;
}

}  // namespace rollcall
