// SPDX-License-Identifier: Apache-2.0
// Calls that MPI rejected, if a rejection is the reason why a rank ended or why others wait for the
// rank. A rank that ignores the error continues without having taken part in the call. A rejected
// call without such a consequence is not reported: programs provoke errors on purpose.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/model/messages.h"

namespace rollcall {
namespace {

using What = Incident::What;
using Processes = std::vector<uint32_t>;
using Calls = std::vector<const RejectedCall*>;

class RejectionFinder {
 public:
  RejectionFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), trace_(analysis.trace), incidents_(*incidents) {}

  void Find() {
    const bool any = std::ranges::any_of(
        trace_.processes, [](const Process& process) { return !process.rejected.empty(); });
    if (!any) return;
    for (Incident& incident : incidents_) {
      if (incident.what != What::kRejected) Explain(&incident);
    }
    AddOpenCalls();
    Merge();
  }

 private:
  const std::vector<RejectedCall>& Rejected(uint32_t p) const {
    return trace_.processes[p].rejected;
  }

  // The rejected call that the process did not return from. Every call that the process has missed
  // since is a consequence.
  const RejectedCall* Inside(uint32_t p) const {
    const auto call = std::find_if(Rejected(p).begin(), Rejected(p).end(),
                                   [](const RejectedCall& one) { return one.open; });
    return call == Rejected(p).end() ? nullptr : &*call;
  }

  // The rejected call of `p` that would have had this number: the others made their call `theirs`
  // with the number.
  const RejectedCall* InPlaceOf(uint32_t p, const Incident& incident, const Event* theirs) const {
    if (incident.communicator == kNoIndex || incident.sequence == 0) return nullptr;
    const MemberHistory* history = analysis_.HistoryOf(incident.communicator, p);
    if (history == nullptr) return nullptr;
    for (auto call = Rejected(p).rbegin(); call != Rejected(p).rend(); ++call) {
      const Event& event = call->event;
      if (theirs != nullptr && analysis_.Op(event) != analysis_.Op(*theirs)) continue;
      if (event.member != kNoIndex) {
        if (analysis_.CommunicatorOf(event) != incident.communicator) continue;
        if (event.sequence == incident.sequence) return &*call;
        continue;
      }
      // A call on an invalid communicator has no number. It fits if it was made between two calls
      // on this communicator.
      const Event* before = history->At(incident.sequence - 1);
      const Event* after = history->At(incident.sequence);
      if (call->error == ErrorClass::kCOMM && IsCollective(analysis_.KindOf(event)) &&
          (before == nullptr || before->start_ns <= event.start_ns) &&
          (after == nullptr || after->start_ns >= event.start_ns)) {
        return &*call;
      }
    }
    return nullptr;
  }

  // The last rejected call, if the process made no later call; otherwise nullptr.
  const RejectedCall* Last(uint32_t p) const {
    if (Rejected(p).empty()) return nullptr;
    const RejectedCall& last = Rejected(p).back();
    const std::vector<const Event*> made = analysis_.Timeline(p);
    return made.empty() || made.back()->start_ns <= last.event.start_ns ? &last : nullptr;
  }

  // The rejected send or receive of `p` whose counterpart `waiter` waits in.
  const RejectedCall* OtherHalf(uint32_t p, uint32_t waiter) const {
    for (const WaitDependency& dependency : analysis_.graph.processes[waiter].dependencies) {
      if (dependency.event == nullptr || dependency.node != kNoIndex) continue;
      const uint32_t communicator = analysis_.CommunicatorOf(*dependency.event);
      for (auto call = Rejected(p).rbegin(); call != Rejected(p).rend(); ++call) {
        const uint32_t where = analysis_.CommunicatorOf(call->event);
        if (where != communicator && call->error != ErrorClass::kCOMM) continue;
        if (WasRepeated(p, *call)) continue;
        if (FitsMessage(*call, communicator, p, waiter, *dependency.event)) return &*call;
      }
    }
    return nullptr;
  }

  // Whether the call was repeated with a correct argument; the wrong argument may differ.
  bool WasRepeated(uint32_t p, const RejectedCall& rejected) const {
    const std::vector<Event>& made = trace_.processes[p].p2p;
    return std::ranges::any_of(made, [&](const Event& later) {
      const Arguments& ours = analysis_.Args(rejected.event);
      const Arguments& theirs = analysis_.Args(later);
      return later.start_ns > rejected.event.start_ns &&
             analysis_.CommunicatorOf(later) == analysis_.CommunicatorOf(rejected.event) &&
             theirs.operation == ours.operation &&
             (theirs.tag == ours.tag || rejected.error == ErrorClass::kTAG) &&
             (theirs.root_or_peer == ours.root_or_peer || rejected.error == ErrorClass::kRANK);
    });
  }

  bool FitsMessage(const RejectedCall& call, uint32_t communicator, uint32_t p, uint32_t waiter,
                   const Event& waiting) const {
    const auto rank_of = [&](uint32_t process) {
      const MemberHistory* history = analysis_.HistoryOf(communicator, process);
      return history == nullptr ? ring::kNoPeer : history->member->rank;
    };
    for (const Message& theirs : MessagesOf(analysis_.Args(waiting))) {
      for (const Message& ours : MessagesOf(analysis_.Args(call.event))) {
        const bool peers = (theirs.peer == rank_of(p) || theirs.peer == ring::kAnySource) &&
                           (ours.peer == rank_of(waiter) || ours.peer == ring::kAnySource ||
                            call.error == ErrorClass::kRANK);
        const bool tags = ours.tag == theirs.tag || ours.tag == ring::kAnyTag ||
                          theirs.tag == ring::kAnyTag || call.error == ErrorClass::kTAG;
        if (ours.sends != theirs.sends && peers && tags) return true;
      }
    }
    return false;
  }

  // The rejected calls of all of `side`, if they explain why the other side waits; otherwise none.
  Calls CallsOf(const Incident& incident, const Processes& side, const Processes& others,
                const Event* theirs) const {
    const bool left = incident.what == What::kDeath || incident.what == What::kLeft;
    Calls calls;
    for (const uint32_t p : side) {
      const RejectedCall* call = Inside(p);
      if (call == nullptr) call = InPlaceOf(p, incident, theirs);
      for (size_t i = 0; i < others.size() && call == nullptr && incident.sequence == 0; ++i) {
        call = OtherHalf(p, others[i]);
      }
      if (call == nullptr && left && &side == &incident.deviating) call = Last(p);
      if (call == nullptr) return {};
      calls.push_back(call);
    }
    return calls;
  }

  void Explain(Incident* incident) {
    // A rank that is outside every call may be about to repeat the rejected call.
    if (incident->what == What::kNotArrived) return;
    Calls calls =
        CallsOf(*incident, incident->deviating, incident->agreeing, incident->agreeing_event);
    if (calls.empty() && incident->what != What::kDeath) {
      calls =
          CallsOf(*incident, incident->agreeing, incident->deviating, incident->deviating_event);
      if (!calls.empty()) {
        std::swap(incident->agreeing, incident->deviating);
        std::swap(incident->agreeing_event, incident->deviating_event);
      }
    }
    if (calls.empty() && incident->what == What::kMessage) calls = SenderOf(incident);
    if (calls.empty()) return;
    incident->what = What::kRejected;
    incident->tie = false;
    Name(incident, calls);
    // If the process did not return from the call, the later place where the others wait is a
    // consequence.
    const Event& call = calls.front()->event;
    if (calls.front()->open && call.sequence != 0) {
      incident->communicator = analysis_.CommunicatorOf(call);
      incident->sequence = call.sequence;
    }
  }

  // If no rank answers a message, the incident names no sender, because several ranks may be meant.
  // Looks for a rank whose rejected call is the counterpart.
  Calls SenderOf(Incident* incident) const {
    const uint32_t waiter = incident->deviating.front();
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      const RejectedCall* call = p == waiter ? nullptr : OtherHalf(p, waiter);
      if (call == nullptr) continue;
      incident->agreeing = std::exchange(incident->deviating, {p});
      incident->agreeing_event = incident->deviating_event;
      return {call};
    }
    return {};
  }

  static void Name(Incident* incident, const Calls& calls) {
    incident->Set<EndDetails>().rejected = calls;
    incident->calls.clear();
    for (const RejectedCall* call : calls) incident->calls.push_back(&call->event);
    incident->deviating_event = incident->calls.front();
  }

  // One call that was rejected on several ranks is one incident.
  void Merge() {
    std::map<std::tuple<uint32_t, Operation, ErrorClass>, size_t> known;
    std::vector<Incident> kept;
    for (Incident& incident : incidents_) {
      if (incident.what == What::kRejected) {
        const auto key = std::tuple(trace_.processes[incident.deviating.front()].world,
                                    analysis_.Op(*incident.deviating_event),
                                    incident.Of<EndDetails>().rejected.front()->error);
        const auto [entry, added] = known.emplace(key, kept.size());
        if (!added) {
          Join(std::move(incident), &kept[entry->second]);
          continue;
        }
      }
      kept.push_back(std::move(incident));
    }
    incidents_ = std::move(kept);
  }

  static void Join(Incident from, Incident* to) {
    for (size_t i = 0; i < from.deviating.size(); ++i) {
      if (Contains(to->deviating, from.deviating[i])) continue;
      to->deviating.push_back(from.deviating[i]);
      to->Set<EndDetails>().rejected.push_back(from.Of<EndDetails>().rejected[i]);
      to->calls.push_back(from.calls[i]);
    }
    for (const uint32_t p : from.agreeing) {
      if (!Contains(to->agreeing, p)) to->agreeing.push_back(p);
    }
    std::erase_if(to->agreeing, [to](uint32_t p) { return Contains(to->deviating, p); });
    to->hangs |= from.hangs;
  }

  // Adds the rejected calls that did not return. No rank needs to wait for their processes: the end
  // of one of them ends the job.
  void AddOpenCalls() {
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      const RejectedCall* call = Inside(p);
      if (call == nullptr) continue;
      Incident incident;
      incident.what = What::kRejected;
      incident.deviating = {p};
      Name(&incident, {call});
      incident.communicator = analysis_.CommunicatorOf(call->event);
      incident.sequence = call->event.sequence;
      if (incident.communicator != kNoIndex && incident.sequence != 0) {
        AddThoseInside(analysis_, &incident);
      }
      incidents_.push_back(std::move(incident));
    }
  }

  const Analysis& analysis_;
  const Trace& trace_;
  std::vector<Incident>& incidents_;
};

}  // namespace

void FindRejected(const Analysis& analysis, std::vector<Incident>* incidents) {
  RejectionFinder(analysis, incidents).Find();
}

}  // namespace rollcall
