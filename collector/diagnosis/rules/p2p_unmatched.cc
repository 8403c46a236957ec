// docs/verdicts/p2p-unmatched.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stalled_host.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

// The message most like the one that is missing: same pair, other tag or communicator.
std::string NearMiss(const Analysis& analysis, uint32_t waiter, const Event& call) {
  const Trace& trace = analysis.trace;
  const Arguments& wanted = analysis.Args(call);
  if (call.membership == kNoIndex) return "";
  const uint32_t communicator = trace.memberships[call.membership].communicator;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (p == waiter) continue;
    for (const Channel& channel : trace.processes[p].channels) {
      if (channel.membership == kNoIndex) continue;
      const Membership& membership = trace.memberships[channel.membership];
      if (membership.communicator != communicator || channel.sent == 0) continue;
      if (channel.peer != trace.memberships[call.membership].rank) continue;
      uint64_t received = 0;
      for (const Channel& own : trace.processes[waiter].channels) {
        if (own.membership == call.membership && own.peer == membership.rank &&
            own.tag == channel.tag) {
          received = own.received;
        }
      }
      if (channel.sent <= received) continue;
      return fmt::format(
          "near miss: rank {} sent it tag {}, which nobody received; it waits for {}",
          trace.processes[p].rank, channel.tag, ArgumentsText(trace, wanted));
    }
  }
  return "";
}

}  // namespace

std::optional<Finding> JudgeP2pUnmatched(const Analysis& analysis, const Incident& incident,
                                         const Parted&) {
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
