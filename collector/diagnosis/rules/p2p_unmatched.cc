// docs/verdicts/p2p-unmatched.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stalled_host.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

// How many messages with the tag `process` has received from a rank of a communicator.
uint64_t Received(const Trace& trace, uint32_t process, uint32_t communicator, int32_t from,
                  int32_t tag) {
  for (const Channel& channel : trace.processes[process].channels) {
    if (channel.membership != kNoIndex && channel.peer == from && channel.tag == tag &&
        trace.memberships[channel.membership].communicator == communicator) {
      return channel.received;
    }
  }
  return 0;
}

// The message most like the one that is missing: same pair, other tag or, failing that, other
// communicator.
std::string NearMiss(const Analysis& analysis, uint32_t waiter, const Event& call) {
  const Trace& trace = analysis.trace;
  if (call.membership == kNoIndex) return "";
  const uint32_t wanted = trace.memberships[call.membership].communicator;
  const std::string waits_for = ArgumentsText(trace, analysis.Args(call));
  std::string elsewhere;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (p == waiter) continue;
    for (const Channel& channel : trace.processes[p].channels) {
      if (channel.membership == kNoIndex || channel.sent == 0) continue;
      const Membership& sender = trace.memberships[channel.membership];
      const uint32_t communicator = sender.communicator;
      const Lane* receiver = analysis.LaneOf(communicator, waiter);
      if (receiver == nullptr || channel.peer != receiver->membership->rank) continue;
      if (channel.sent <= Received(trace, waiter, communicator, sender.rank, channel.tag)) continue;
      const int rank = trace.processes[p].rank;
      if (communicator == wanted) {
        return fmt::format(
            "near miss: rank {} sent it tag {}, which nobody received; it waits for {}", rank,
            channel.tag, waits_for);
      }
      if (elsewhere.empty()) {
        elsewhere = fmt::format(
            "near miss: rank {} sent it tag {} on {}, which nobody received; it waits for {} on {}",
            rank, channel.tag, analysis.CommunicatorName(communicator), waits_for,
            analysis.CommunicatorName(wanted));
      }
    }
  }
  return elsewhere;
}

// Sent, and left lying there by all who finalized.
Finding JudgeUnreceived(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched, true);
  finding.title = fmt::format(
      "{} sent {} {} that {} never received", RanksPhrase(analysis.RanksOf(incident.deviating)),
      RanksPhrase(analysis.RanksOf(incident.agreeing)),
      incident.count == 1 ? "a message" : fmt::format("{} messages", incident.count),
      incident.count == 1 ? "was" : "were");
  finding.why =
      fmt::format("counted on {}, by tag: more was sent than received, and no receive is left open",
                  analysis.CommunicatorName(incident.communicator));
  finding.fix = "post the missing receive, or leave the send out";
  return finding;
}

}  // namespace

std::optional<Finding> JudgeP2pUnmatched(const Analysis& analysis, const Incident& incident,
                                         const Parted&) {
  if (incident.what == Incident::What::kUnreceived) return JudgeUnreceived(analysis, incident);
  if (incident.what != Incident::What::kMessage || incident.deviating_event == nullptr) {
    return std::nullopt;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched, true);
  if (IsOnDevice(finding.operation)) {
    const Membership& membership = analysis.trace.memberships[incident.deviating_event->membership];
    finding.title = fmt::format("rank {} waits in {}, and the other end was never posted",
                                analysis.RankOf(membership.process),
                                DeviceCall(analysis, incident, *incident.deviating_event));
    finding.why =
        "each of the two waits for the other: one makes a call more, or one less, than the other "
        "expects, and which of them is not on record";
    return finding;
  }
  const uint32_t waiter = incident.deviating.front();
  finding.title = fmt::format(
      "{} {} in {}, which nobody will answer", RanksPhrase(finding.culprits),
      Verb(finding.culprits, "waits", "wait"), CallText(analysis, *incident.deviating_event));
  finding.why = "everybody who could answer it has ended, or waits for good elsewhere";
  std::string near_miss = NearMiss(analysis, waiter, *incident.deviating_event);
  if (!near_miss.empty()) finding.notes.push_back(std::move(near_miss));
  if (BufferHides(analysis, incident)) {
    finding.notes.emplace_back(
        "smaller messages, which MPI buffers, hide it: the send returns then");
  }
  return finding;
}

}  // namespace rollcall
