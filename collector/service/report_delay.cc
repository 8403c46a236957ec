// SPDX-License-Identifier: Apache-2.0
#include "collector/service/report_delay.h"

#include <algorithm>
#include <vector>

namespace rollcall::service {
namespace {

// A verdict without culprits waits this long for ranks that may decide between the sides.
constexpr int64_t kTieDelayNs = 1'000'000'000;
// A mismatch is observed for this long before it is reported as one that did not stop the job.
constexpr int64_t kHangDelayNs = 1'200'000'000;
// A verdict waits this long for ranks that may join the waiting ranks, or for its proof.
constexpr int64_t kWaitingDelayNs = 400'000'000;
// After an agent connects, others are expected for this long; they retry twice a second.
constexpr int64_t kJoinDelayNs = 3'000'000'000;

// Whether `holds` for any rank of the finding's world; kNoIndex stands for a rank without a trace.
template <typename Predicate>
bool AnyRank(const Trace& trace, const Finding& finding, Predicate holds) {
  if (finding.world >= trace.worlds.size()) return false;
  const std::vector<uint32_t>& ranks = trace.worlds[finding.world].processes;
  return std::ranges::any_of(ranks, holds);
}

// Neither side of a mismatch can be singled out yet, and ranks that may decide have not arrived.
bool MayBeDecided(const Trace& trace, const Report& report) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return finding.culprits.empty() && AnyRank(trace, finding, [&](uint32_t process) {
             return process == kNoIndex || !trace.processes[process].quiet;
           });
  });
}

// The finding is inconclusive because ranks have no trace.
bool LacksRanks(const Trace& trace, const Report& report) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return finding.certainty == Certainty::kInconclusive &&
           AnyRank(trace, finding, [](uint32_t process) { return process == kNoIndex; });
  });
}

// Ranks may join the ranks that the report says wait: they are alive and in no call. A rank in a
// call that was not yet observed to be still counts as well, if it would prove the finding.
bool MoreMayCome(const Trace& trace, const Report& report) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    return finding.hangs && AnyRank(trace, finding, [&](uint32_t process) {
             if (process == kNoIndex) return false;
             const Process& other = trace.processes[process];
             const bool alive_and_moving = other.end.how == ProcessEnd::How::kAlive &&
                                           !other.quiet && other.phase < ring::Phase::kFinalized;
             if (!alive_and_moving) return false;
             if (!other.open_calls.empty()) return finding.certainty != Certainty::kProven;
             return !std::ranges::binary_search(finding.culprits, other.rank);
           });
  });
}

// A mismatch may turn out to hang: a live rank is inside a call.
bool MayBecomeHang(const Trace& trace, const Report& report) {
  return std::ranges::any_of(report.findings, [&](const Finding& finding) {
    if (finding.hangs || finding.idle || BasisOf(finding.kind) == KindBasis::kData) return false;
    return AnyRank(trace, finding, [&](uint32_t process) {
      return process != kNoIndex && trace.processes[process].end.how == ProcessEnd::How::kAlive &&
             !trace.processes[process].open_calls.empty();
    });
  });
}

}  // namespace

bool IsReportable(const Report& report, int64_t stall_after_ns) {
  if (report.no_progress_ns >= stall_after_ns) return !report.findings.empty();
  return std::ranges::any_of(report.findings, [](const Finding& finding) {
    return finding.certainty != Certainty::kInconclusive;
  });
}

int64_t ReportDelay(const Trace& trace, const Report& report, int64_t since_last_agent_ns) {
  if (since_last_agent_ns < kJoinDelayNs && LacksRanks(trace, report)) return kJoinDelayNs;
  if (MayBecomeHang(trace, report)) return kHangDelayNs;
  if (MayBeDecided(trace, report)) return kTieDelayNs;
  return MoreMayCome(trace, report) ? kWaitingDelayNs : 0;
}

}  // namespace rollcall::service
