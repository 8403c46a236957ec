// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/rank-stalled.md
#include "collector/diagnosis/rules/stalled_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::string DeviceCallText(const Analysis& analysis, const Incident& incident, const Event& event) {
  const std::string name = OperationName(analysis.Op(event));
  const std::string& group = analysis.CommunicatorName(incident.communicator);
  if (event.sequence != 0) return fmt::format("{} #{} on {}", name, event.sequence, group);
  const Communicator& comm = analysis.trace.communicators[incident.communicator];
  const int32_t peer = analysis.Args(event).root_or_peer;
  const bool known = peer >= 0 && static_cast<size_t>(peer) < comm.ranks.size();
  const bool sends = analysis.KindOf(event) == Kind::kIsend;
  return fmt::format(
      "{} {} {} on {}", name, sends ? "to" : "from",
      known ? fmt::format("rank {}", comm.ranks[static_cast<size_t>(peer)]) : "another rank",
      group);
}

namespace {

// The call of the last process, if all processes wait in a call for their own devices; otherwise
// nullptr.
const Event* DeviceWaitOf(const Analysis& analysis, const std::vector<uint32_t>& processes) {
  const Event* wait = nullptr;
  for (const uint32_t p : processes) {
    const OpenCall* open = analysis.graph.processes[p].open;
    if (open == nullptr) return nullptr;
    wait = &open->event;
    const auto operation = static_cast<uint16_t>(analysis.Op(*wait));
    if (FindOperation(operation).kind != Kind::kHostWait) return nullptr;
  }
  return wait;
}

// The hosts wait for their devices, on which no NCCL operation is left.
Finding JudgeOtherWork(const Analysis& analysis, const Incident& incident, const Event& wait) {
  Finding finding = Draft(analysis, incident, VerdictKind::kGpuStalled);
  const bool one = finding.culprits.size() == 1;
  finding.title = fmt::format(
      "the GPU{} of {} {} busy with other work of {} own: {} host{} in {} and never reached {}, "
      "where {}",
      one ? "" : "s", RanksPhrase(finding.culprits), one ? "is" : "are", one ? "its" : "their",
      one ? "its" : "their", one ? " waits" : "s wait", OperationName(analysis.Op(wait)),
      DeviceCallText(analysis, incident, *incident.agreeing_event),
      RanksPhrase(finding.waiting, "waits", "wait"));
  finding.why = "all of NCCL's operations on it are complete, so something else is running there";
  finding.notes.emplace_back("a long kernel looks the same");
  return finding;
}

}  // namespace

Finding JudgeStalledHost(const Analysis& analysis, const Incident& incident) {
  if (const Event* wait = DeviceWaitOf(analysis, incident.deviating)) {
    return JudgeOtherWork(analysis, incident, *wait);
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kRankStalled);
  const std::vector<int32_t>& hosts = finding.culprits;
  finding.title = fmt::format(
      "{} stopped outside every operation: {} no open call and never reached {}, where {}",
      RanksPhrase(hosts), hosts.size() == 1 ? "it has" : "they have",
      DeviceCallText(analysis, incident, *incident.agreeing_event),
      RanksPhrase(finding.waiting, "waits", "wait"));
  finding.why =
      "all operations that it enqueued are complete: its device waits for its host, and its host "
      "waits for no recorded rank";
  finding.fix =
      "check the host: the stack of each of its threads (py-spy dump), a held lock (the GIL), slow "
      "input, a debugger, a stopped process";
  return finding;
}

}  // namespace rollcall
