// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/transport-stalled.md
#include <fmt/format.h>

#include "collector/diagnosis/certainty/hang.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

const char* LibraryName(ring::Flavor flavor) {
  switch (flavor) {
    case ring::Flavor::kOpenMpi:
      return "Open MPI";
    case ring::Flavor::kMpich:
      return "MPICH";
    default:
      return "the MPI library";
  }
}

// The library does not return from a call that waits for no other rank.
Finding JudgeCancelled(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kTransportStalled);
  const char* library = LibraryName(analysis.trace.processes[incident.agreeing.front()].flavor);
  finding.title =
      fmt::format("{} in {} for a request that {} cancelled, and {} does not return from it",
                  RanksPhrase(finding.waiting, "waits", "wait"), OperationName(finding.operation),
                  finding.waiting.size() == 1 ? "it" : "they", library);
  finding.why =
      "after MPI_Cancel the wait is local: it returns whatever other ranks do (MPI 4.0, 3.8.4)";
  finding.fix = fmt::format(
      "no other rank can complete it: {} does not complete the cancelled call. Do not cancel it: "
      "let it match, or free its request",
      library);
  return finding;
}

// Each message was sent, and none arrives.
Finding JudgeUndelivered(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kTransportStalled);
  const std::string call = CallText(analysis, *incident.agreeing_event);
  finding.title =
      finding.waiting.size() == 1
          ? fmt::format("rank {} waits for {}, which was sent and does not arrive",
                        finding.waiting.front(), call)
          : fmt::format("{} wait for messages that were sent and do not arrive, as for {}",
                        RanksPhrase(finding.waiting), call);
  finding.why = fmt::format(
      "as many messages were sent as were received and are awaited, and all ranks are inside MPI "
      "without having moved for {}",
      DurationText(analysis.no_progress_ns));
  finding.fix =
      "if no call that rollcall does not record (of a library that calls PMPI functions) receives "
      "them, no error was found in the program: check the layers below it. Collect the MPI "
      "library's log with transport messages on, and the stacks inside the library";
  return finding;
}

}  // namespace

std::optional<Finding> JudgeTransportStalled(const Analysis& analysis, const Incident& incident,
                                             const Divergence&) {
  if (incident.what == Incident::What::kCancelled) return JudgeCancelled(analysis, incident);
  if (incident.what == Incident::What::kUndelivered) return JudgeUndelivered(analysis, incident);
  if (incident.what != Incident::What::kAllArrived) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kTransportStalled);
  if (finding.certainty == Certainty::kSuspected) {
    finding.notes.emplace_back(
        "other work on the streams is not recorded: a long kernel in front of it looks the same");
  }
  finding.title = fmt::format("every member arrived at {}, and {} not returned from it",
                              NumberedCall(analysis, incident, finding.operation),
                              RanksPhrase(finding.waiting, "has", "have"));
  const std::vector<uint32_t> without_counts = WithoutCounts(analysis, incident);
  if (!without_counts.empty()) {
    finding.why = fmt::format("the recorded arguments match; the counts of {} are not recorded",
                              RanksPhrase(analysis.RanksOf(without_counts)));
    finding.fix =
        "check that each rank sends what the receiving rank expects. If so, no error was found in "
        "the program: check network, driver and library";
    return finding;
  }
  finding.why = analysis.no_progress_ns < 0
                    ? "all arguments match, and no member has an older operation pending"
                    : fmt::format("all arguments match, and nothing has moved for {}",
                                  DurationText(analysis.no_progress_ns));
  if (IsOnDevice(finding.operation)) {
    finding.fix =
        "no error was found in the program: check the layers below it. Collect the links' error "
        "counters, NCCL's "
        "log (NCCL_DEBUG=INFO) and the state of each member's GPU: a GPU that stopped before it "
        "began the operation looks the same here";
    return finding;
  }
  finding.fix =
      "no error was found in the program: check the layers below it. Collect the links' error "
      "counters, the MPI "
      "library's log with transport messages on, and the stacks inside the library";
  return finding;
}

}  // namespace rollcall
