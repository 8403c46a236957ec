#include "collector/service/patience.h"

#include <algorithm>
#include <vector>

namespace rollcall::service {
namespace {

// Some have parted before the others came by: so long a verdict that names nobody waits for them.
constexpr int64_t kTiePatienceNs = 1'000'000'000;
// So long a mismatch is watched before it is told as one that did not stop the job.
constexpr int64_t kTurnPatienceNs = 1'200'000'000;
// So long a verdict waits for others that would wait with those that it names, or for its proof.
constexpr int64_t kComingPatienceNs = 400'000'000;
// So long after an agent connected others are expected, which try to twice a second.
constexpr int64_t kJoinPatienceNs = 3'000'000'000;

// Whether it holds for a rank of the finding's world; kNoIndex stands for one without a trace.
template <typename Predicate>
bool AnyRank(const Trace& trace, const Finding& finding, Predicate holds) {
  if (finding.world >= trace.worlds.size()) return false;
  const std::vector<uint32_t>& ranks = trace.worlds[finding.world].processes;
  return std::any_of(ranks.begin(), ranks.end(), holds);
}

// Two sides of a mismatch of which none can be singled out yet, while ranks that may tell them
// apart are still on their way.
bool MayBeDecided(const Trace& trace, const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return finding.culprits.empty() && AnyRank(trace, finding, [&](uint32_t process) {
             return process == kNoIndex || !trace.processes[process].quiet;
           });
  });
}

// It cannot be told without ranks that have no trace.
bool LacksRanks(const Trace& trace, const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return finding.certainty == Certainty::kInconclusive &&
           AnyRank(trace, finding, [](uint32_t process) { return process == kNoIndex; });
  });
}

// Ranks that may come to wait like those that the report names: alive, and in no call. And those in
// a call that were not seen to stand still, if that would prove it.
bool MoreMayCome(const Trace& trace, const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return finding.hangs && AnyRank(trace, finding, [&](uint32_t process) {
             if (process == kNoIndex) return false;
             const Process& other = trace.processes[process];
             const bool alive_and_moving = other.end.how == ProcessEnd::How::kAlive &&
                                           !other.quiet && other.phase < ring::Phase::kFinalized;
             if (!alive_and_moving) return false;
             if (!other.open_calls.empty()) return finding.certainty != Certainty::kProven;
             return !std::binary_search(finding.culprits.begin(), finding.culprits.end(),
                                        other.rank);
           });
  });
}

// What is wrong may yet turn out to hang: somebody is inside a call, and has not been for long.
bool MayTurnOutToHang(const Trace& trace, const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    return !finding.hangs && AnyRank(trace, finding, [&](uint32_t process) {
      return process != kNoIndex && trace.processes[process].end.how == ProcessEnd::How::kAlive &&
             !trace.processes[process].open_calls.empty();
    });
  });
}

}  // namespace

bool IsReportable(const Report& report, int64_t stall_after_ns) {
  if (report.no_progress_ns >= stall_after_ns) return !report.findings.empty();
  return std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
    return finding.certainty != Certainty::kInconclusive;
  });
}

int64_t Patience(const Trace& trace, const Report& report, int64_t since_last_agent_ns) {
  if (since_last_agent_ns < kJoinPatienceNs && LacksRanks(trace, report)) return kJoinPatienceNs;
  if (MayTurnOutToHang(trace, report)) return kTurnPatienceNs;
  if (MayBeDecided(trace, report)) return kTiePatienceNs;
  return MoreMayCome(trace, report) ? kComingPatienceNs : 0;
}

}  // namespace rollcall::service
