// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/certainty/idle.h"

#include <algorithm>
#include <optional>

namespace rollcall {
namespace {

bool WaitsOutside(const Analysis& analysis, uint32_t p) {
  return analysis.trace.processes[p].outside_wait.has_value() &&
         analysis.graph.processes[p].activity == Activity::kRunning && !analysis.WasJudged(p) &&
         analysis.IdleNs(p) < analysis.options.idle_after_ns;
}

bool Listens(const Analysis& analysis, uint32_t p) {
  return analysis.trace.processes[p].outside_wait->what == OutsideWait::For::kClient;
}

// The other ranks of the world; kNoIndex for a rank without a trace.
std::vector<uint32_t> OthersOf(const Analysis& analysis, const std::vector<uint32_t>& idle) {
  std::vector<uint32_t> others;
  for (const uint32_t p :
       analysis.trace.worlds[analysis.trace.processes[idle.front()].world].processes) {
    if (!Contains(idle, p)) others.push_back(p);
  }
  return others;
}

bool MayConnect(const Analysis& analysis, uint32_t p) {
  return p == kNoIndex || analysis.graph.processes[p].activity == Activity::kRunning;
}

// Whether two of these ranks have made different numbers of collectives on a communicator of both.
bool HaveDiverged(const Analysis& analysis, const std::vector<uint32_t>& ranks) {
  std::vector<bool> is_one(analysis.trace.processes.size(), false);
  for (const uint32_t p : ranks) {
    if (p != kNoIndex) is_one[p] = true;
  }
  return std::ranges::any_of(analysis.histories, [&](const auto& histories) {
    std::optional<uint64_t> entered;
    for (const MemberHistory& history : histories.members) {
      if (!is_one[history.process]) continue;
      if (entered.value_or(history.entered) != history.entered) return true;
      entered = history.entered;
    }
    return false;
  });
}

}  // namespace

bool MayBeIdle(const Analysis& analysis, const Incident& incident) {
  const std::vector<uint32_t>& idle = incident.deviating;
  const bool all =
      (incident.what == Incident::What::kNotArrived || incident.Of<StartDetails>().store) &&
      !idle.empty() &&
      std::ranges::all_of(idle, [&](uint32_t p) { return WaitsOutside(analysis, p); });
  if (!all) return false;
  const std::vector<uint32_t> others = OthersOf(analysis, idle);
  const bool listens = std::ranges::any_of(idle, [&](uint32_t p) { return Listens(analysis, p); });
  const bool undecidable =
      listens && std::ranges::any_of(others, [&](uint32_t p) { return MayConnect(analysis, p); });
  return !undecidable && !HaveDiverged(analysis, others);
}

}  // namespace rollcall
