// SPDX-License-Identifier: Apache-2.0
// Finds unfinished operations and leaks of a job that finished without errors. MPI 4.0, 11.2.2:
// before MPI_Finalize a process "must locally complete all MPI operations that it initiated and
// must execute matching calls needed to complete MPI communications initiated by other processes".
//
// The recorder counts collectives, messages and objects. So the result does not depend on how far
// back the records go; only the shown lines do.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/matching/user_code.h"

namespace rollcall {
namespace {

using What = Incident::What;

// Whether this is an MPI communicator with one group, certain sequence numbers and traces of all
// members.
bool IsPlain(const Analysis& analysis, const CommunicatorHistory& histories) {
  constexpr uint32_t kOthers = ring::kIsInter | ring::kIsWindow | ring::kIsFile | ring::kIsNccl |
                               ring::kSawConcurrency | ring::kWeakIdentity;
  return histories.ordered && histories.absent.empty() && histories.members.size() > 1 &&
         (analysis.trace.communicators[histories.communicator].flags & kOthers) == 0;
}

bool AllCounted(const CommunicatorHistory& histories) {
  return std::ranges::all_of(histories.members,
                             [](const MemberHistory& history) { return history.member->counted; });
}

// The two sides of a number that some members reached and others did not.
Incident UnevenEnd(const Analysis& analysis, const CommunicatorHistory& histories,
                   uint64_t sequence) {
  Incident incident;
  incident.what = What::kUnbalanced;
  incident.communicator = histories.communicator;
  incident.sequence = sequence;
  for (const MemberHistory& history : histories.members) {
    std::vector<uint32_t>& side =
        history.entered >= sequence ? incident.agreeing : incident.deviating;
    side.push_back(history.process);
    uint64_t& difference = incident.Set<CallDetails>().difference;
    difference =
        std::max(difference, history.entered + 1 - std::min(sequence, history.entered + 1));
  }
  incident.tie = incident.agreeing.size() == incident.deviating.size();
  if (incident.deviating.size() > incident.agreeing.size()) {
    std::swap(incident.agreeing, incident.deviating);
  }
  const auto call = [&](const std::vector<uint32_t>& side) {
    return CallOrPlace(analysis, histories.communicator, sequence, side.front());
  };
  incident.agreeing_event = call(incident.agreeing);
  incident.deviating_event = call(incident.deviating);
  return incident;
}

// The numbers of messages with one envelope.
struct MessageCount {
  uint64_t sent = 0;
  uint64_t received = 0;
};
// Communicator, source, destination and tag (MPI 4.0, 3.2.3).
using Envelope = std::tuple<uint32_t, uint32_t, uint32_t, int32_t>;

class MessageCounts {
 public:
  explicit MessageCounts(const Analysis& analysis) : analysis_(analysis), trace_(analysis.trace) {
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) Read(p);
  }

  void FindUnreceived(std::vector<Incident>* incidents) const {
    for (const auto& [envelope, count] : counts_) {
      const auto [communicator, from, to, tag] = envelope;
      if (count.sent <= count.received || doubtful_.contains({communicator, to})) continue;
      if (trace_.processes[to].channels_lost) continue;
      Incident incident;
      incident.what = What::kUnreceived;
      incident.communicator = communicator;
      incident.tie = true;  // it is not known whether a send is wrong, or a receive is missing
      incident.deviating = {from};
      incident.agreeing = {to};
      incident.Set<MessageDetails>().count = count.sent - count.received;
      // Messages of one envelope are received in the order in which they were sent (3.5).
      incident.deviating_event = FindSend(from, communicator, to, tag, count.received + 1);
      incident.calls = {incident.deviating_event};
      incidents->push_back(std::move(incident));
    }
  }

 private:
  void Read(uint32_t p) {
    for (const Channel& channel : trace_.processes[p].channels) {
      if (channel.member == kNoIndex) continue;
      const uint32_t c = trace_.members[channel.member].communicator;
      const uint32_t peer = PeerOf(p, c, channel.peer);
      // After wildcard receives without a recorded status, or with a full table, any message may
      // have been received.
      if (channel.receives_unseen || peer == kNoIndex || channel.tag == ring::kAnyTag) {
        doubtful_.insert({c, p});
        if (peer != kNoIndex) doubtful_.insert({c, peer});
        continue;
      }
      if (channel.sent != 0) counts_[{c, p, peer, channel.tag}].sent += channel.sent;
      if (channel.received != 0) counts_[{c, peer, p, channel.tag}].received += channel.received;
    }
    // A receive whose request was never completed may have received a message.
    for (const OpenRequest& request : trace_.processes[p].open_requests) {
      const uint32_t member = request.event.member;
      if (member != kNoIndex) doubtful_.insert({trace_.members[member].communicator, p});
    }
  }

  uint32_t PeerOf(uint32_t p, uint32_t communicator, int32_t peer) const {
    const Communicator& comm = trace_.communicators[communicator];
    if (peer < 0 || static_cast<size_t>(peer) >= comm.ranks.size()) return kNoIndex;
    // A member that has another identity for the communicator counted its messages under that
    // identity.
    const bool whole = comm.members.size() == comm.ranks.size();
    const uint32_t others = ring::kIsInter | ring::kIsNccl | ring::kWeakIdentity;
    if (!whole || (comm.flags & others) != 0) return kNoIndex;
    return ProcessOf(trace_, trace_.processes[p].world, comm.ranks[static_cast<size_t>(peer)]);
  }

  // The send with this number in its envelope. If its record is lost, the last recorded send of the
  // envelope; nullptr if none is recorded.
  const Event* FindSend(uint32_t from, uint32_t communicator, uint32_t to, int32_t tag,
                        uint64_t number) const {
    const Event* last = nullptr;
    for (const Event& event : trace_.processes[from].p2p) {
      const Arguments& arguments = analysis_.Args(event);
      if (event.member == kNoIndex || arguments.tag != tag ||
          trace_.members[event.member].communicator != communicator ||
          PeerOf(from, communicator, arguments.root_or_peer) != to || !Sends(arguments)) {
        continue;
      }
      if (event.detail == number) return &event;
      last = &event;
    }
    return last;
  }

  static bool Sends(const Arguments& arguments) {
    const Kind kind = FindOperation(static_cast<uint16_t>(arguments.operation)).kind;
    return kind == Kind::kSend || kind == Kind::kIsend || kind == Kind::kSendrecv;
  }

  const Analysis& analysis_;
  const Trace& trace_;
  std::map<Envelope, MessageCount> counts_;
  std::set<std::pair<uint32_t, uint32_t>> doubtful_;  // communicator, receiver
};

// Whether a sent message may have been cancelled.
bool MayHaveCancelled(const Analysis& analysis) {
  for (const Process& process : analysis.trace.processes) {
    for (const Thread& thread : process.threads) {
      if (thread.lost_p2p != 0) return true;
    }
    for (const Event& event : process.p2p) {
      if (analysis.KindOf(event) == Kind::kCancel) return true;
    }
  }
  return false;
}

// Leaks of one operation at one line are one finding, for all ranks.
class Leaks {
 public:
  explicit Leaks(const Analysis& analysis) : analysis_(analysis) {}

  void Add(What what, uint32_t process, const Event& event, uint64_t count) {
    const std::string place = PlaceText(analysis_.sites.UserFrame(event.call_path));
    Leak& leak = leaks_[{what, analysis_.Op(event), place}];
    Incident& incident = leak.incident;
    incident.what = what;
    if (incident.deviating.empty()) incident.deviating_event = &event;
    if (incident.deviating.empty() || incident.deviating.back() != process) {
      incident.deviating.push_back(process);
      incident.calls.push_back(&event);
      leak.counts.push_back(0);
    }
    leak.counts.back() += count;
    incident.Set<LeakDetails>().at_least |= (analysis_.Args(event).flags & ring::kCountsCut) != 0;
  }

  void Take(std::vector<Incident>* incidents) {
    for (auto& [place, leak] : leaks_) {
      const auto [least, most] = std::minmax_element(leak.counts.begin(), leak.counts.end());
      LeakDetails& details = leak.incident.Set<LeakDetails>();
      details.count = *most;
      details.at_most = *least != *most;
      incidents->push_back(std::move(leak.incident));
    }
  }

 private:
  struct Leak {
    Incident incident;
    std::vector<uint64_t> counts;  // for each of `deviating`
  };
  const Analysis& analysis_;
  std::map<std::tuple<What, Operation, std::string>, Leak> leaks_;
};

What LeakOf(const Analysis& analysis, const OpenRequest& request) {
  const Kind kind = analysis.KindOf(request.event);
  if (kind != Kind::kPersistentP2p && kind != Kind::kPersistentCollective) {
    return What::kRequestLeak;
  }
  return request.state == ring::RequestState::kInactive ? What::kPersistentLeak
                                                        : What::kStartedLeak;
}

}  // namespace

bool AllFinalized(const Analysis& analysis) {
  const Trace& trace = analysis.trace;
  if (!analysis.options.job_ended || trace.processes.empty()) return false;
  for (const World& world : trace.worlds) {
    if (std::ranges::find(world.processes, kNoIndex) != world.processes.end()) {
      return false;
    }
  }
  return std::ranges::all_of(trace.processes, [](const Process& process) {
    return process.phase == ring::Phase::kFinalized && !process.device &&
           process.records_unreadable == 0 && process.table_overflows == 0 &&
           process.errors_seen == 0;
  });
}

void FindUnbalanced(const Analysis& analysis, std::vector<Incident>* incidents) {
  for (const CommunicatorHistory& histories : analysis.histories) {
    if (!IsPlain(analysis, histories) || !AllCounted(histories)) continue;
    const auto [least, most] = std::minmax_element(
        histories.members.begin(), histories.members.end(),
        [](const MemberHistory& a, const MemberHistory& b) { return a.entered < b.entered; });
    if (least->entered == most->entered) continue;
    // The skipped call may be earlier than the last calls, because later calls may have matched
    // others.
    const std::optional<Shift>& shift = analysis.ShiftOf(histories.communicator);
    if (shift && shift->sequence <= least->entered) {
      Incident incident = ShiftIncident(histories, *shift);
      const auto call = [&](const std::vector<uint32_t>& side) {
        return CallOrPlace(analysis, histories.communicator, shift->sequence, side.front());
      };
      incident.deviating_event = call(incident.deviating);
      incident.agreeing_event = call(incident.agreeing);
      incidents->push_back(std::move(incident));
    } else {
      incidents->push_back(UnevenEnd(analysis, histories, least->entered + 1));
    }
  }
}

void FindUnreceived(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (!MayHaveCancelled(analysis)) MessageCounts(analysis).FindUnreceived(incidents);
}

void FindLeaks(const Analysis& analysis, std::vector<Incident>* incidents) {
  Leaks leaks(analysis);
  for (uint32_t p = 0; p < analysis.trace.processes.size(); ++p) {
    for (const OpenRequest& request : analysis.trace.processes[p].open_requests) {
      leaks.Add(LeakOf(analysis, request), p, request.event, 1);
    }
    for (const Event& leftover : analysis.trace.processes[p].leftovers) {
      leaks.Add(What::kLeftover, p, leftover, leftover.detail);
    }
  }
  leaks.Take(incidents);
}

}  // namespace rollcall
