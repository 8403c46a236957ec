#include "collector/service/standing_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/model/rank_set.h"

namespace rollcall::service {
namespace {

// Clocks of ranks, agents and collector differ by microseconds: a diagnosis at a threshold is made
// slightly after it.
constexpr int64_t kBehindNs = 50'000'000;
// Evidence that may change without a record is examined this often.
constexpr int64_t kAgainNs = 5'000'000'000;

// Less CPU time than this counts as waiting (collector/live/activity.h has the same bound).
constexpr double kWaitsBelow = 0.02;

bool Computes(const Process& process, const Observed& observed) {
  return observed.cpu_share >= kWaitsBelow && process.end.how == ProcessEnd::How::kAlive;
}

}  // namespace

std::string FindingKey(const Trace& trace, const Finding& finding) {
  // Not by index: another trace has other indices.
  const uint64_t world =
      finding.world < trace.worlds.size() ? trace.worlds[finding.world].job_key : 0;
  const uint64_t communicator = finding.communicator < trace.communicators.size()
                                    ? trace.communicators[finding.communicator].key
                                    : 0;
  return fmt::format("{}|{:x}|{:x}|{}|{}|{}", KindName(finding.kind), world, communicator,
                     finding.sequence, finding.hangs, fmt::join(finding.culprits, ","));
}

std::vector<Sighting> SightingsOf(const Trace& trace, const rollcall::Report& report,
                                  const std::vector<Observed>& observed) {
  // A process with several devices is several processes of the trace, one of which can be observed.
  const auto of = [&](uint32_t process) -> const Observed* {
    const uint32_t host = trace.processes[process].host_process;
    const uint32_t index = host == kNoIndex ? process : host;
    return index < observed.size() && observed[index].id != 0 ? &observed[index] : nullptr;
  };
  std::vector<Sighting> sightings;
  for (const Finding& finding : report.findings) {
    Sighting& sighting = sightings.emplace_back();
    sighting.key = FindingKey(trace, finding);
    sighting.kind = finding.kind;
    sighting.certainty = finding.certainty;
    sighting.waiting_ranks = finding.waiting.size();
    sighting.hangs = finding.hangs;
    if (!finding.hangs) continue;
    std::vector<uint32_t> all = ProcessesOf(trace, finding, finding.waiting_set);
    for (const uint32_t process : all) {
      const Observed* const seen = of(process);
      if (seen == nullptr) continue;
      sighting.waiting.push_back({seen->id, trace.processes[process].rank, seen->activity});
    }
    for (const std::vector<int32_t>& ranks : {finding.culprits, finding.awaited}) {
      const std::vector<uint32_t> others = ProcessesOf(trace, finding, ranks);
      all.insert(all.end(), others.begin(), others.end());
    }
    for (const uint32_t process : all) {
      const Observed* const seen = of(process);
      if (seen == nullptr) continue;
      sighting.still_since_ns = std::max(sighting.still_since_ns, seen->still_since_ns);
      sighting.computes |= Computes(trace.processes[process], *seen);
    }
  }
  return sightings;
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

StandingFindings::ReportDelta StandingFindings::Report(const std::vector<Sighting>& sightings,
                                                       int64_t now_ns) {
  looked_ns_ = now_ns;
  ReportDelta news = ReportDelta::kNone;
  for (const Sighting& sighting : sightings) {
    const auto [found, is_new] = standing_.try_emplace(sighting.key);
    Standing& standing = found->second;
    standing.newest = sighting;
    standing.seen_ns = now_ns;
    if (is_new || sighting.certainty < standing.best) {
      standing.best = sighting.certainty;
      news = ReportDelta::kNew;
    } else if (sighting.waiting_ranks > standing.most_ranks) {
      news = std::max(news, ReportDelta::kMoreRanks);
    }
    standing.most_ranks = std::max(standing.most_ranks, sighting.waiting_ranks);
  }
  return news;
}

std::map<std::pair<VerdictKind, Certainty>, size_t> StandingFindings::Counts() const {
  std::map<std::pair<VerdictKind, Certainty>, size_t> counts;
  for (const auto& [key, standing] : standing_) {
    ++counts[{standing.newest.kind, standing.newest.certainty}];
  }
  return counts;
}

bool StandingFindings::AnyDue(int64_t now_ns) const {
  return std::any_of(standing_.begin(), standing_.end(), [&](const auto& entry) {
    const Standing& standing = entry.second;
    return standing.seen_ns == looked_ns_ && IsDue(standing.newest, now_ns);
  });
}

bool StandingFindings::IsDue(const Sighting& sighting, int64_t now_ns) const {
  if (!sighting.hangs) return false;
  const int64_t still_ns = now_ns - sighting.still_since_ns;
  const bool stalled = still_ns >= times_.stall_after_ns;
  switch (sighting.certainty) {
    case Certainty::kProven:
      return true;
    case Certainty::kLikely:
      return stalled || (still_ns >= times_.kill_after_ns && !sighting.computes);
    case Certainty::kSuspected:
      return stalled;
    case Certainty::kInconclusive:
      break;
  }
  return false;
}

int64_t StandingFindings::NextDiagnosisNs() const {
  int64_t next_ns = INT64_MAX;
  for (const auto& [key, standing] : standing_) {
    const Sighting& sighting = standing.newest;
    if (!sighting.hangs) continue;
    const int64_t still_ns = looked_ns_ - kBehindNs - sighting.still_since_ns;
    const int64_t step_ns = times_.Next(still_ns);
    if (step_ns == INT64_MAX) continue;
    next_ns = std::min(next_ns, sighting.still_since_ns + step_ns + kBehindNs);
    // The certainty of a finding that rests on polls rises later than the time since the last
    // record tells: the polls were not tight at first, or the thread waited for a processor.
    const bool rises = sighting.certainty == Certainty::kSuspected;
    const bool held = sighting.computes && still_ns >= times_.kill_after_ns;
    if (rises || held) next_ns = std::min(next_ns, looked_ns_ + kAgainNs);
  }
  return next_ns;
}

Withdrawal StandingFindings::Withdraw(
    const std::function<std::optional<Movement>(uint64_t id)>& moved) {
  Withdrawal withdrawal;
  for (auto standing = standing_.begin(); standing != standing_.end();) {
    const Sighting& sighting = standing->second.newest;
    bool is_void = false;
    for (const Sighting::Rank& rank : sighting.waiting) {
      const std::optional<Movement> movement = moved(rank.id);
      if (!movement) continue;
      const bool went_on = movement->activity != rank.activity && !movement->gave_up;
      if (!went_on && !movement->ended_well) continue;
      withdrawal.ranks.push_back(rank.rank);
      is_void = true;
    }
    if (is_void) {
      withdrawal.keys.push_back(sighting.key);
      withdrawal.kinds.push_back(sighting.kind);
    }
    standing = is_void ? standing_.erase(standing) : std::next(standing);
  }
  Normalize(&withdrawal.ranks);
  withdrawal.all = std::none_of(standing_.begin(), standing_.end(),
                                [](const auto& standing) { return standing.second.newest.hangs; });
  return withdrawal;
}

}  // namespace rollcall::service
