// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/rules/argument_mismatch.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/model/messages.h"
#include "collector/model/rank_set.h"
#include "proto/mpi_errors.h"

namespace rollcall {
namespace {

void AddErrors(const Analysis& analysis, const Incident& incident, Finding* finding) {
  std::vector<uint32_t> truncated;
  std::vector<uint32_t> others;
  for (const MemberHistory& history : analysis.histories[incident.communicator].members) {
    const Process& process = analysis.trace.processes[history.process];
    for (const Event& event : process.lifecycle) {
      if (analysis.Op(event) != Operation::kCallError) continue;
      (IsTruncation(process, event.detail) ? truncated : others).push_back(history.process);
    }
  }
  if (!truncated.empty()) {
    finding->notes.push_back(fmt::format("MPI reported it: {} got MPI_ERR_TRUNCATE",
                                         RanksPhrase(analysis.RanksOf(truncated))));
  } else if (!others.empty()) {
    finding->notes.push_back(
        fmt::format("MPI reported errors on {}", RanksPhrase(analysis.RanksOf(others))));
  }
}

std::string EntryText(int32_t entry, const char* of) {
  return entry < 0 ? "" : fmt::format(" (entry {} of its {})", entry, of);
}

// Two ranks disagree about the data that one sends to the other.
void DescribePair(const Analysis& analysis, const std::string& call, const Mismatch& mismatch,
                  Finding* finding) {
  const DisagreeingPair& pair = *mismatch.between;
  const bool types = mismatch.deviating_value == mismatch.agreeing_value;
  finding->title =
      fmt::format("rank {} sends {} to rank {}{}, which expects {} from it{}, in {}",
                  analysis.RankOf(pair.sender), types ? "data" : mismatch.deviating_value,
                  analysis.RankOf(pair.receiver), EntryText(pair.send_entry, "send counts"),
                  mismatch.agreeing_value, EntryText(pair.recv_entry, "receive counts"), call);
  finding->why = "what a rank sends to another has to be what that one expects from it";
  if (*pair.pattern != '\0') {
    finding->why += fmt::format(". In all pairs that agree, {}: {} breaks this", pair.pattern,
                                RanksPhrase(finding->culprits));
  }
  if (pair.others == 0) return;
  finding->notes.push_back(fmt::format("{} of ranks disagree{} in this call",
                                       CountText(pair.others, "more pair"),
                                       pair.others == 1 ? "s" : ""));
}

}  // namespace

std::optional<Finding> JudgeArguments(const Analysis& analysis, const Incident& incident,
                                      MismatchKind wanted, VerdictKind kind) {
  const bool message = incident.what == Incident::What::kMessageSize;
  if ((!message && incident.what != Incident::What::kCalls) || incident.mismatch.kind != wanted) {
    return std::nullopt;
  }
  Finding finding = Draft(analysis, incident, kind);
  const Mismatch& mismatch = incident.mismatch;
  const std::string call = NumberedCall(analysis, incident, finding.operation);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  if (message) {
    finding.title =
        fmt::format("rank {} sends {} to rank {}, which receives {}",
                    analysis.RankOf(incident.deviating.front()), mismatch.deviating_value,
                    analysis.RankOf(incident.deviating.back()), mismatch.agreeing_value);
  } else if (incident.Of<CallDetails>().everybody) {
    finding.title = fmt::format("{} all send {} and expect {} in {}", RanksPhrase(deviating),
                                mismatch.deviating_value, mismatch.agreeing_value, call);
  } else {
    finding.title = fmt::format(
        "{} {} to {}; {} {}{}", RanksPhrase(deviating, "passes", "pass"), mismatch.deviating_value,
        call, RanksPhrase(agreeing, "passes", "pass"), mismatch.agreeing_value,
        incident.tie
            ? fmt::format(": {} against {}",
                          deviating.size() == 1 ? "one" : fmt::format("{}", deviating.size()),
                          agreeing.size() == 1 ? "one" : fmt::format("{}", agreeing.size()))
            : "");
  }
  if (message && !IsOnDevice(finding.operation) && !IsC10d(finding.operation)) {
    finding.fix = mismatch.kind == MismatchKind::kCount
                      ? "receive at least as much as is sent"
                      : "use datatypes with the same type signature in the send and the receive";
  }
  finding.why =
      message ? "the n-th send between two ranks matches the n-th receive, and both describe one "
                "message"
              : fmt::format("{} requires the same value on every rank: {} and {} differ",
                            IsOnDevice(finding.operation) || IsC10d(finding.operation)
                                ? OperationName(finding.operation)
                                : "MPI",
                            mismatch.deviating_value, mismatch.agreeing_value);
  if (mismatch.between) DescribePair(analysis, call, mismatch, &finding);
  if (incident.repeated > 0) {
    finding.notes.push_back(
        fmt::format("again from the same lines, {}", CountText(incident.repeated, "more time")));
  }
  if (!finding.hangs) {
    finding.notes.emplace_back("the job did not hang, but its results may be wrong");
  }
  AddErrors(analysis, incident, &finding);
  return finding;
}

}  // namespace rollcall
