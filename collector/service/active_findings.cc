// SPDX-License-Identifier: Apache-2.0
#include "collector/service/active_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/model/rank_set.h"

namespace rollcall::service {
namespace {

// Clocks of ranks, agents and collector differ by microseconds. A diagnosis for a threshold is
// therefore made slightly after the threshold.
constexpr int64_t kAfterThresholdNs = 50'000'000;
// Evidence that may change without a record is examined this often.
constexpr int64_t kAgainNs = 5'000'000'000;

// Less CPU time than this counts as waiting (collector/live/activity.h has the same bound).
constexpr double kWaitsBelow = 0.02;

bool Computes(const Process& process, const Observed& observed) {
  return observed.cpu_share.value_or(0) >= kWaitsBelow &&
         process.end.how == ProcessEnd::How::kAlive;
}

}  // namespace

std::string FindingKey(const Trace& trace, const Finding& finding) {
  // Without indices: another trace has other indices.
  const uint64_t world =
      finding.world < trace.worlds.size() ? trace.worlds[finding.world].job_key : 0;
  const uint64_t communicator = finding.communicator < trace.communicators.size()
                                    ? trace.communicators[finding.communicator].key
                                    : 0;
  const std::string_view kind = KindName(finding.kind);
  const std::string culprits = fmt::format("{}", fmt::join(finding.culprits, ","));
  // Independent of the calls in which the other ranks wait this time.
  if (finding.idle) return fmt::format("{}|{:x}|idle|{}", kind, world, culprits);
  return fmt::format("{}|{:x}|{:x}|{}|{}|{}", kind, world, communicator, finding.sequence,
                     finding.hangs, culprits);
}

std::vector<FindingState> FindingStates(const Trace& trace, const rollcall::Report& report,
                                        const std::vector<Observed>& observed) {
  // A process with several devices is several processes of the trace. Only one of them can be
  // observed.
  const auto of = [&](uint32_t process) -> const Observed* {
    const uint32_t host = trace.processes[process].host_process;
    const uint32_t index = host == kNoIndex ? process : host;
    return index < observed.size() && observed[index].id != 0 ? &observed[index] : nullptr;
  };
  std::vector<FindingState> states;
  for (const Finding& finding : report.findings) {
    FindingState& state = states.emplace_back();
    state.key = FindingKey(trace, finding);
    state.kind = finding.kind;
    state.certainty = finding.certainty;
    state.waiting_ranks = finding.waiting.size();
    state.title = finding.title;
    state.hangs = finding.hangs;
    state.idle = finding.idle;
    if (!finding.hangs && !finding.idle) continue;
    std::vector<uint32_t> all = ProcessesOf(trace, finding, finding.waiting_set);
    for (const uint32_t process : all) {
      const Observed* const seen = of(process);
      if (seen == nullptr) continue;
      state.waiting.push_back({seen->id, trace.processes[process].rank, seen->activity});
    }
    const std::vector<uint32_t> culprits = ProcessesOf(trace, finding, finding.culprits);
    for (const uint32_t process : culprits) {
      const Observed* const seen = of(process);
      state.cpu_known &= seen != nullptr && seen->cpu_share.has_value();
    }
    all.insert(all.end(), culprits.begin(), culprits.end());
    const std::vector<uint32_t> awaited = ProcessesOf(trace, finding, finding.awaited);
    all.insert(all.end(), awaited.begin(), awaited.end());
    for (const uint32_t process : all) {
      const Observed* const seen = of(process);
      if (seen == nullptr) continue;
      state.still_since_ns = std::max(state.still_since_ns, seen->still_since_ns);
      state.computes |= Computes(trace.processes[process], *seen);
    }
  }
  return states;
}

std::string Withdrawal::Text() const {
  std::string what = "the verdict above is withdrawn";
  if (!all) {
    std::set<std::string_view> names;
    for (const VerdictKind kind : kinds) names.insert(KindName(kind));
    what = fmt::format("withdrawn from the verdicts above: {}", fmt::join(names, ", "));
  }
  return fmt::format("{} moved again; {}", RanksPhrase(ranks), what);
}

ActiveFindings::ReportDelta ActiveFindings::Report(const std::vector<FindingState>& states,
                                                   int64_t now_ns) {
  diagnosed_ns_ = now_ns;
  ReportDelta news = ReportDelta::kNone;
  for (const FindingState& state : states) {
    const auto [found, is_new] = active_.try_emplace(state.key);
    ActiveFinding& active = found->second;
    active.newest = state;
    active.seen_ns = now_ns;
    const bool known = state.idle && !reported_idle_.insert(state.key).second;
    if (is_new && known) {
      active.best = state.certainty;
      news = std::max(news, ReportDelta::kMoreRanks);
    } else if (is_new || state.certainty < active.best) {
      active.best = state.certainty;
      news = ReportDelta::kNew;
    } else if (state.waiting_ranks > active.max_ranks) {
      news = std::max(news, ReportDelta::kMoreRanks);
    }
    active.max_ranks = std::max(active.max_ranks, state.waiting_ranks);
  }
  return news;
}

std::vector<const FindingState*> ActiveFindings::All() const {
  std::vector<const FindingState*> all;
  all.reserve(active_.size());
  for (const auto& [key, active] : active_) all.push_back(&active.newest);
  return all;
}

std::map<std::pair<VerdictKind, Certainty>, size_t> ActiveFindings::Counts() const {
  std::map<std::pair<VerdictKind, Certainty>, size_t> counts;
  for (const auto& [key, active] : active_) {
    ++counts[{active.newest.kind, active.newest.certainty}];
  }
  return counts;
}

bool ActiveFindings::AnyDue(int64_t now_ns) const {
  return std::ranges::any_of(active_, [&](const auto& entry) {
    const ActiveFinding& active = entry.second;
    return active.seen_ns == diagnosed_ns_ && IsDue(active.newest, now_ns);
  });
}

bool ActiveFindings::IsDue(const FindingState& state, int64_t now_ns) const {
  if (!state.hangs) return false;
  const int64_t still_ns = now_ns - state.still_since_ns;
  const bool stalled = still_ns >= times_.stall_after_ns;
  switch (state.certainty) {
    case Certainty::kProven:
      return true;
    case Certainty::kLikely:
      return stalled || (still_ns >= times_.kill_after_ns && !state.computes);
    case Certainty::kSuspected:
      return stalled;
    case Certainty::kInconclusive:
      break;
  }
  return false;
}

int64_t ActiveFindings::NextDiagnosisNs() const {
  int64_t next_ns = INT64_MAX;
  for (const auto& [key, active] : active_) {
    const FindingState& state = active.newest;
    if (!state.hangs && !state.idle) continue;
    const int64_t still_ns = diagnosed_ns_ - kAfterThresholdNs - state.still_since_ns;
    const int64_t threshold_ns = times_.Next(still_ns);
    if (threshold_ns == INT64_MAX) continue;
    next_ns = std::min(next_ns, state.still_since_ns + threshold_ns + kAfterThresholdNs);
    // The certainty of a finding that rests on polls may rise later than the time since the last
    // record suggests: the polls were not tight at first, or the thread waited for a processor.
    const bool rises = state.hangs && state.certainty == Certainty::kSuspected;
    const bool held = state.hangs && state.computes && still_ns >= times_.kill_after_ns;
    if (rises || held) next_ns = std::min(next_ns, diagnosed_ns_ + kAgainNs);
  }
  return next_ns;
}

Withdrawal ActiveFindings::Withdraw(
    const std::function<std::optional<Movement>(uint64_t id)>& moved) {
  Withdrawal withdrawal;
  for (auto active = active_.begin(); active != active_.end();) {
    const FindingState& state = active->second.newest;
    bool is_void = false;
    for (const FindingState::Rank& rank : state.waiting) {
      const std::optional<Movement> movement = moved(rank.id);
      if (!movement) continue;
      const bool went_on = movement->activity != rank.activity && !movement->gave_up;
      if (!went_on && !movement->ended_well) continue;
      if (!state.idle) withdrawal.ranks.push_back(rank.rank);
      is_void = true;
    }
    if (is_void) {
      withdrawal.keys.push_back(state.key);
      if (!state.idle) withdrawal.kinds.push_back(state.kind);
    }
    active = is_void ? active_.erase(active) : std::next(active);
  }
  Normalize(&withdrawal.ranks);
  withdrawal.all =
      std::ranges::none_of(active_, [](const auto& active) { return active.second.newest.hangs; });
  return withdrawal;
}

}  // namespace rollcall::service
