// SPDX-License-Identifier: Apache-2.0
// Keeps the findings that were reported and still hold. Decides which of them are to be acted on,
// and which are void because a rank that was reported as waiting has moved. A pure state machine:
// time and movement are arguments.
#ifndef ROLLCALL_COLLECTOR_SERVICE_ACTIVE_FINDINGS_H_
#define ROLLCALL_COLLECTOR_SERVICE_ACTIVE_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"
#include "collector/service/progress_times.h"

namespace rollcall::service {

// Identifies a finding: a finding of a later diagnosis with the same key is not new, even if its
// text differs.
std::string FindingKey(const Trace& trace, const Finding& finding);

// The state of a finding in one diagnosis.
struct FindingState {
  struct Rank {
    uint64_t id = 0;  // of the process
    int32_t rank = -1;
    uint64_t activity = 0;
  };
  std::string key;
  VerdictKind kind = VerdictKind::kInconclusive;
  Certainty certainty = Certainty::kInconclusive;
  std::string title;
  size_t waiting_ranks = 0;
  // The other members are set if the finding reports that the job hangs, or that ranks are idle.
  bool hangs = false;
  bool idle = false;
  std::vector<Rank> waiting;   // the ranks that it reports as waiting
  int64_t still_since_ns = 0;  // the last record entered or completed by a rank of the finding
  bool computes = false;       // one of them is outside every call and uses the processor
  bool cpu_known = true;       // of each culprit
};

// What is known of a process besides its ring at the moment of the diagnosis.
struct Observed {
  uint64_t id = 0;  // 0: nothing
  uint64_t activity = 0;
  int64_t still_since_ns = 0;
  // CPU share of one processor used by threads that neither wait inside a call nor poll tightly,
  // since the previous diagnosis; empty if unknown.
  std::optional<double> cpu_share{};
};

// The findings of a report; `observed` is by process of the trace and may be shorter.
std::vector<FindingState> FindingStates(const Trace& trace, const Report& report,
                                        const std::vector<Observed>& observed);

// What a process has done since the diagnosis.
struct Movement {
  uint64_t activity = 0;
  bool gave_up = false;     // it entered MPI_Abort
  bool ended_well = false;  // exited with 0 by itself
};

// Findings that are void.
struct Withdrawal {
  std::vector<std::string> keys;
  std::vector<VerdictKind> kinds;  // of the findings that reported a hang
  // The ranks that moved; ascending. Empty: only findings of idle ranks are void, and the user need
  // not be informed.
  std::vector<int32_t> ranks;
  bool all = false;  // no reported finding that still holds reports a hang

  // "ranks 0,1 moved again; the verdict above is withdrawn"
  std::string Text() const;
};

class ActiveFindings {
 public:
  explicit ActiveFindings(const ProgressTimes& times) : times_(times) {}

  // Call after a diagnosis, when its findings are reported. A finding with a higher certainty than
  // before is new. A finding of idle ranks is new only once, because ranks may become idle again
  // and again.
  enum class ReportDelta : uint8_t { kNone, kMoreRanks, kNew };
  ReportDelta Report(const std::vector<FindingState>& states, int64_t now_ns);

  // Whether the job may be ended because of a finding of the newest diagnosis: a proven one at
  // once; a likely one after kill_after without progress, or after stall_after if a rank computes;
  // a suspected one after stall_after.
  bool AnyDue(int64_t now_ns) const;

  // When to diagnose again, even if the digests show no change: a finding may then be more certain,
  // or due. INT64_MAX: no finding can change.
  int64_t NextDiagnosisNs() const;

  // Removes findings that are void. `moved`: what a process did, if known.
  Withdrawal Withdraw(const std::function<std::optional<Movement>(uint64_t id)>& moved);

  bool empty() const { return active_.empty(); }
  // The findings that hold, as in the newest diagnosis that had them.
  std::vector<const FindingState*> All() const;
  // The number of findings that hold, by kind and by certainty in the newest diagnosis.
  std::map<std::pair<VerdictKind, Certainty>, size_t> Counts() const;

 private:
  struct ActiveFinding {
    FindingState newest;
    int64_t seen_ns = 0;
    size_t max_ranks = 0;
    Certainty best = Certainty::kInconclusive;
  };

  bool IsDue(const FindingState& state, int64_t now_ns) const;

  const ProgressTimes times_;
  std::map<std::string, ActiveFinding> active_;
  std::set<std::string> reported_idle_;  // keys
  int64_t diagnosed_ns_ = 0;             // the newest diagnosis
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_ACTIVE_FINDINGS_H_
