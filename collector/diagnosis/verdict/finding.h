// SPDX-License-Identifier: Apache-2.0
// The result of a diagnosis. Plain data, rendered by collector/report.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_VERDICT_FINDING_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_VERDICT_FINDING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// docs/verdicts/ defines the levels. Ordered: a larger value claims less.
enum class Certainty : uint8_t { kProven, kLikely, kSuspected, kInconclusive };

// Whether findings of a kind fail a check.
enum class Severity : uint8_t { kError, kNote };

// What a kind is derived from; kinds.def defines the values.
enum class KindBasis : uint8_t { kFact, kOrder, kCalls, kData };

// One row of kinds.def.
enum class VerdictKind : uint8_t {
#define KIND(identifier, ...) k##identifier,
#include "collector/diagnosis/verdict/kinds.def"
#undef KIND
};

struct KindRow {
  VerdictKind kind;
  std::string_view name;
  Severity severity;
  KindBasis basis;
  std::string_view fix;
};

// By VerdictKind.
inline constexpr auto kKinds = std::to_array<KindRow>({
#define KIND(identifier, name, severity, basis, fix) \
  {VerdictKind::k##identifier, name, Severity::k##severity, KindBasis::k##basis, fix},
#include "collector/diagnosis/verdict/kinds.def"
#undef KIND
});

constexpr std::string_view KindName(VerdictKind kind) {
  return kKinds[static_cast<size_t>(kind)].name;
}
constexpr Severity KindSeverity(VerdictKind kind) {
  return kKinds[static_cast<size_t>(kind)].severity;
}
constexpr KindBasis BasisOf(VerdictKind kind) { return kKinds[static_cast<size_t>(kind)].basis; }
// The fix of a kind, if the finding has none of its own.
constexpr std::string_view KindFix(VerdictKind kind) {
  return kKinds[static_cast<size_t>(kind)].fix;
}

// By name; empty if there is no such kind.
constexpr std::optional<VerdictKind> FindKind(std::string_view name) {
  for (const KindRow& row : kKinds) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

constexpr std::string_view CertaintyName(Certainty certainty) {
  constexpr std::string_view kNames[] = {"proven", "likely", "suspected", "inconclusive"};
  return kNames[static_cast<size_t>(certainty)];
}

// A place where ranks are.
struct Site {
  // kOther: the ranks made the call, and it returned.
  enum class Role : uint8_t { kWaiting, kContinued, kCulprit, kStalled, kEnded, kOther };
  Role role = Role::kOther;
  bool culprit = false;        // the culprits' side; otherwise the other side
  std::vector<int32_t> ranks;  // increasing
  SourceFrame frame;           // the user's line; `function` is empty if unknown
  uint32_t call_path = kNoIndex;
  bool live = false;  // they are outside every call, at the place that Process::live_stacks shows
  uint32_t communicator = kNoIndex;  // of the call
  std::string what;  // "MPI_Allreduce #58  (1 x MPI_DOUBLE, MPI_SUM)", "exited with 3"
};

// Ranks on one host and, if known, on one device of it.
struct HostRanks {
  std::string host;
  int32_t device = -1;
  std::vector<int32_t> ranks;  // increasing
};

// Ranks with the same Process::user_phase.
struct RanksPhase {
  std::vector<int32_t> ranks;  // increasing
  std::string text;
};

// A value that differs between ranks of a finding.
struct ComparedValue {
  struct Group {
    std::string text;            // the value
    std::vector<int32_t> ranks;  // increasing
    // The user's line that passed the value, or that runs in the frame of the variable; without a
    // file if unknown.
    SourceFrame frame;
  };
  // What is known about the values with smaller numbers.
  enum class Before : uint8_t { kNone, kEqual, kUnknown };

  std::string name;
  // The n-th call of rollcall_value() with this name; 0: a variable of a frame.
  uint64_t number = 0;
  bool repeated = false;  // a rank has passed several values with this name
  Before before = Before::kNone;
  bool decides = false;       // a variable that a condition between the ranks' lines names
  bool if_named = false;      // Variable::if_named
  bool is_rank = false;       // it is the rank's number
  std::vector<Group> groups;  // at least two; the culprits' first
};

// What the condition that separates the ranks names, if no value of it can be compared.
struct UnshownValue {
  enum class Reason : uint8_t {
    kGone,       // the ranks have left the function of the condition
    kOptimized,  // optimized out on the ranks
    kCalls,      // it is the result of a function
  };
  Reason reason = Reason::kGone;
  std::string name = {};            // as the condition has it: "skip", "ctx->n", "done()"
  std::vector<int32_t> ranks = {};  // increasing; kCalls: empty
  SourceFrame frame = {};           // of the condition
  std::vector<ComparedValue::Group> groups = {};  // values of other ranks; the culprits' first
};

// A line of a log on which a finding rests.
struct Quote {
  std::string file;
  uint64_t line = 0;  // 1-based
  std::string text;   // valid UTF-8 without control characters
};

struct Finding {
  VerdictKind kind = VerdictKind::kInconclusive;
  Certainty certainty = Certainty::kInconclusive;  // that the job cannot continue, or failed
  // The certainty that the kind, and with it the cause, is right. Not higher than `certainty`,
  // except for facts, which hold whichever ranks wait (KindBasis::kFact).
  Certainty kind_certainty = Certainty::kInconclusive;
  bool hangs = false;  // the job hangs (or hung) because of it
  // The culprits wait for the world outside the job, as far as an observer can see. `hangs` is then
  // false.
  bool idle = false;
  uint32_t world = kNoIndex;
  uint32_t communicator = kNoIndex;
  Operation operation = Operation::kNone;  // the skipped or mismatched collective
  std::string called;                      // the function by which the user called it
  uint64_t sequence = 0;                   // first misaligned number on the communicator; 0 if none
  std::vector<int32_t> culprits;           // increasing; empty if no rank can be singled out
  // The hosts of the culprits, by their first rank; empty in a job on one host.
  std::vector<HostRanks> culprit_hosts;
  // A culprit has ended, or has called a function that ends it. Its launcher may be ending the job.
  bool culprit_gone = false;
  std::vector<int32_t> waiting;  // increasing
  std::string title;             // one sentence
  std::vector<Site> sites;       // the other side first, culprits last
  // The phases of the finding's ranks, culprits first; also in `notes`. Empty unless the job hangs
  // or a culprit is gone, because otherwise the ranks have moved since.
  std::vector<RanksPhase> phases;
  // Values that differ between the finding's ranks: those of rollcall_value(), then variables, each
  // beginning with those that separate the culprits from the others.
  std::vector<ComparedValue> values;
  std::optional<UnshownValue> unshown;  // only if no value of the condition is in `values`
  std::string why;
  std::string fix;                 // empty: the kind's own
  std::vector<std::string> notes;  // what lowers certainty, near misses, counts of consequences
  std::vector<Quote> quotes;       // lines of logs: of the culprits first, then of waiting ranks
  // If it hangs: the verdict is void once a rank of `waiting_set` moves. The ranks of `awaited`
  // could release ranks of `waiting_set`.
  std::vector<int32_t> waiting_set;  // increasing
  std::vector<int32_t> awaited;      // increasing
};

// The ranks that the finding names: culprits, waiting ranks, and those of its sites. Increasing.
std::vector<int32_t> RanksOf(const Finding& finding);

// The number of hosts that processes name.
uint32_t CountHosts(const Trace& trace);

// Computes Finding::culprit_hosts.
std::vector<HostRanks> HostsOf(const Trace& trace, const Finding& finding);

// "rank 5 on node3 (GPU 2); ranks 7-9 on node4"; only the first of many hosts. Empty for none.
std::string HostsText(const std::vector<HostRanks>& hosts);

// "uneven-iterations (likely)": the certainty of the kind, if it differs from that of the hang.
std::string KindText(const Finding& finding);

// The finding's own advice, or that of its kind.
std::string FixText(const Finding& finding);

// With --data: the buffers of collectives, of all ranks.
struct DataCoverage {
  uint64_t read = 0;
  uint64_t unread = 0;   // that should have been read; Report::notes says why
  uint64_t outside = 0;  // calls outside --data-scope
};

struct Report {
  enum class Status : uint8_t { kHung, kStopped, kFinished, kFailed, kRunning, kNoRanks };
  Status status = Status::kRunning;
  uint32_t ranks = 0;  // ranks with a trace
  uint32_t ranks_expected = 0;
  uint32_t hosts = 0;
  int64_t no_progress_ns = -1;
  std::optional<DataCoverage> data;
  std::vector<Finding> findings;  // causes first, most certain first
  std::vector<std::string> notes;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_VERDICT_FINDING_H_
