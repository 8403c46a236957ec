// SPDX-License-Identifier: Apache-2.0
// Finds the first causes among operations that wait on devices, from the graph of device_waits.h.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/device_finder.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/graph/components.h"

namespace rollcall {
namespace {

using What = Incident::What;

class CauseFinder : DeviceFinder {
 public:
  CauseFinder(const Analysis& analysis, const std::vector<bool>& lags,
              std::vector<Incident>* incidents)
      : DeviceFinder(analysis, incidents), lags_(lags) {}

  std::vector<uint32_t> Find() {
    BuildEdges();
    JudgeSinks();
    return std::move(hosts_);
  }

 private:
  void BuildEdges() {
    next_.resize(processes_ + waits_.operations.size());
    for (uint32_t p = 0; p < processes_; ++p) {
      if (waits_.oldest[p] != kNoIndex && !lags_[p]) {
        next_[p].push_back(processes_ + waits_.oldest[p]);
      }
      if (analysis_.trace.processes[p].device) AddHostEdges(p);
    }
    for (size_t i = 0; i < waits_.operations.size(); ++i) {
      const DeviceOperation& operation = waits_.operations[i];
      if (IsExplained(operation) || MayMove(operation)) continue;
      std::vector<uint32_t>& to = next_[processes_ + i];
      to = operation.missing;
      to.insert(to.end(), operation.behind.begin(), operation.behind.end());
      if (to.empty() && operation.absent.empty()) to = operation.unknown;
    }
  }

  // A host inside an MPI call waits for other hosts, and meanwhile gives its device no new work.
  void AddHostEdges(uint32_t p) {
    const ProcessView& view = analysis_.graph.processes[p];
    if (view.activity != Activity::kBlocked || !analysis_.Still(p)) return;
    // The host may also wait for another device of its process.
    const std::vector<uint32_t>& held_up_by = analysis_.trace.processes[p].held_up_by;
    next_[p].insert(next_[p].end(), held_up_by.begin(), held_up_by.end());
    for (const WaitDependency& dependency : view.dependencies) {
      if (dependency.process != kNoIndex) {
        next_[p].push_back(dependency.process);
        continue;
      }
      const std::vector<uint32_t>& on =
          dependency.any_source != kNoIndex
              ? analysis_.graph.any_source[dependency.any_source].members
              : analysis_.graph.nodes[dependency.node].missing;
      next_[p].insert(next_[p].end(), on.begin(), on.end());
    }
  }

  // Chains of waits end in the components that no edge leaves.
  void JudgeSinks() {
    std::vector<uint32_t> waiting;
    for (uint32_t p = 0; p < processes_; ++p) {
      if (waits_.oldest[p] != kNoIndex) waiting.push_back(p);
    }
    const Components components = FindComponents(static_cast<uint32_t>(next_.size()), waiting,
                                                 [this](uint32_t v) { return next_[v]; });
    const auto stays = [&](uint32_t v) {
      return std::ranges::all_of(
          next_[v], [&](uint32_t to) { return components.of[to] == components.of[v]; });
    };
    for (const std::vector<uint32_t>& members : components.members) {
      if (std::ranges::all_of(members, stays)) Judge(members);
    }
  }

  void Judge(const std::vector<uint32_t>& sink) {
    std::vector<uint32_t> processes;
    std::vector<const DeviceOperation*> operations;
    for (const uint32_t v : sink) {
      if (v < processes_) {
        processes.push_back(v);
      } else {
        operations.push_back(&waits_.operations[v - processes_]);
      }
    }
    if (processes.empty()) {
      JudgeOperation(*operations.front());
    } else if (operations.empty()) {
      const uint32_t p = processes.front();
      const Activity activity = analysis_.graph.processes[p].activity;
      if (activity == Activity::kEnded || activity == Activity::kLeft) return AddGone(p, activity);
      const bool idle = OldestHandedOver(analysis_.trace, analysis_.trace.processes[p]) == nullptr;
      // A host inside another kind of call is handled with that call. If a host waits for its
      // device, and no NCCL operation is left on the device, other work on the device delays the
      // host.
      if (activity == Activity::kBlocked && !(idle && HostWaits(p))) return;
      if (LeftCommunicator(p)) return AddGone(p, Activity::kLeft);
      if (idle && !lags_[p] && !MayWaitForGraph(p)) hosts_.push_back(p);
    } else {
      JudgeCycle(processes, operations);
    }
  }

  // Whether others wait for an operation on a communicator that this process destroyed, aborted or
  // revoked.
  bool LeftCommunicator(uint32_t p) const {
    return std::ranges::any_of(waits_.operations, [&](const DeviceOperation& operation) {
      const std::vector<uint32_t>& missing = operation.missing;
      return !operation.IsMessage() && Contains(missing, p) && HasLeft(p, operation);
    });
  }
  bool HasLeft(uint32_t p, const DeviceOperation& operation) const {
    const MemberHistory* history = analysis_.HistoryOf(operation.communicator, p);
    return history != nullptr && (history->member->state == ring::MemberState::kFreed ||
                                  HasStopped(*history->member, history->At(operation.sequence)));
  }

  // Adds a process that ended or left, at the operation in which most ranks wait for it.
  void AddGone(uint32_t p, Activity activity) {
    const DeviceOperation* best = nullptr;
    for (const DeviceOperation& operation : waits_.operations) {
      const std::vector<uint32_t>& missing = operation.missing;
      if (!Contains(missing, p)) continue;
      if (best == nullptr || operation.first.size() > best->first.size()) best = &operation;
    }
    if (best == nullptr || WentWithAnother(p)) return;
    Incident incident = Make(activity == Activity::kEnded ? What::kDeath : What::kLeft, *best);
    incident.deviating = {p};
    incident.agreeing = best->first;
    const bool skipped = activity == Activity::kLeft && !best->IsMessage() && !Made(p, *best);
    if (skipped) {
      incident.deviating.clear();
      for (const uint32_t q : best->missing) {
        const bool gone = analysis_.graph.processes[q].activity == activity || HasLeft(q, *best);
        if (gone && !Made(q, *best)) {
          incident.deviating.push_back(q);
        }
      }
      if (incident.deviating.front() != p) return;  // it was handled with the first of them
    }
    incident.deviating_event = analysis_.LastCall(p);
    // If most ranks ended without the operation, the ranks that wait in it deviate.
    if (!best->IsMessage() &&
        incident.deviating.size() > best->first.size() + best->behind.size()) {
      std::swap(incident.deviating, incident.agreeing);
      std::swap(incident.deviating_event, incident.agreeing_event);
    }
    incidents_.push_back(std::move(incident));
  }

  // The end of a host process is reported once for all of its devices.
  bool WentWithAnother(uint32_t p) {
    const std::vector<Process>& all = analysis_.trace.processes;
    for (Incident& incident : incidents_) {
      if (incident.what != What::kDeath && incident.what != What::kLeft) continue;
      std::vector<uint32_t>& gone = incident.deviating;
      const bool shared = std::ranges::any_of(
          gone, [&](uint32_t q) { return q == p || ShareProcess(all[q], all[p]); });
      if (!shared) continue;
      if (!Contains(gone, p)) gone.push_back(p);
      return true;
    }
    return false;
  }

  // Whether a rank of `operation.first` has an open operation on a communicator with a dead member.
  // That operation, another one of the group or a later one, may be the one that hangs.
  bool MayWaitForTheDead(const DeviceOperation& operation) const {
    const auto has_dead = [this](const OpenRequest& request) {
      const uint32_t c = analysis_.CommunicatorOf(request.event);
      const std::vector<MemberHistory>& histories = analysis_.histories[c].members;
      return std::ranges::any_of(histories, [this](const MemberHistory& history) {
        return analysis_.graph.processes[history.process].activity == Activity::kEnded;
      });
    };
    return std::ranges::any_of(operation.first, [&](uint32_t p) {
      const std::vector<OpenRequest>& requests = analysis_.trace.processes[p].open_requests;
      return std::ranges::any_of(requests, has_dead);
    });
  }

  bool Made(uint32_t process, const DeviceOperation& operation) const {
    const MemberHistory* history = analysis_.HistoryOf(operation.communicator, process);
    return history != nullptr && history->entered >= operation.sequence;
  }

  // Judges an operation that all needed members have begun.
  void JudgeOperation(const DeviceOperation& operation) {
    if (IsExplained(operation) || IsRecent(operation)) return;
    if (!operation.absent.empty()) {
      Incident incident = Make(What::kAbsent, operation);
      incident.agreeing = operation.first;
      incident.absent = operation.absent;
      incidents_.push_back(std::move(incident));
      return;
    }
    // If members may complete the operation early and several members remain, these may wait for
    // one of themselves.
    const bool some_done =
        !operation.done.empty() && (operation.IsMessage() || operation.first.size() == 1 ||
                                    NeedsAll(analysis_.Args(*operation.event)));
    const std::vector<uint32_t>& slow = some_done ? operation.first : operation.idle;
    const bool held_elsewhere = std::ranges::any_of(slow, [&](uint32_t p) {
      return MayBeHeldByItsGroup(
          analysis_.trace, analysis_.histories, p,
          OldestHandedOver(analysis_.trace, analysis_.trace.processes[p])->event);
    });
    if (held_elsewhere) return;  // handled with the operation that delays it
    if (slow.empty() && MayWaitForTheDead(operation)) return;
    Incident incident = Make(slow.empty() ? What::kAllArrived : What::kDeviceLag, operation);
    incident.agreeing = operation.first;
    if (!slow.empty()) {
      incident.deviating = slow;
      incident.agreeing = some_done ? operation.done : Without(operation.first, slow);
      incident.deviating_event = operation.event;
    }
    incidents_.push_back(std::move(incident));
  }

  void JudgeCycle(const std::vector<uint32_t>& processes,
                  const std::vector<const DeviceOperation*>& operations) {
    const auto in = [&](const std::vector<uint32_t>& some) {
      std::vector<uint32_t> result;
      for (const uint32_t p : some) {
        if (std::ranges::binary_search(processes, p)) result.push_back(p);
      }
      return result;
    };
    // A missing message explains a ring. A collective that is only queued after another operation
    // does not.
    for (const bool posted : {false, true}) {
      std::vector<const DeviceOperation*> messages;
      bool collectives = false;
      for (const DeviceOperation* operation : operations) {
        collectives |= !operation->IsMessage();
        const bool wanted = !in(posted ? operation->behind : operation->missing).empty();
        if (operation->IsMessage() && wanted) messages.push_back(operation);
      }
      if (posted && collectives) break;
      if (messages.empty()) continue;
      return AddMessages(messages, posted);
    }
    std::optional<Incident> best;
    for (const bool behind : {false, true}) {
      for (const DeviceOperation* operation : operations) {
        const std::vector<uint32_t> group = in(behind ? operation->behind : operation->missing);
        if (group.empty() || operation->first.empty()) continue;
        Incident incident = MakeCycle(*operation, group);
        if (!best ||
            std::tuple(incident.Of<WaitDetails>().crossed, incident.tie,
                       incident.deviating.size()) <
                std::tuple(best->Of<WaitDetails>().crossed, best->tie, best->deviating.size())) {
          best = std::move(incident);
        }
      }
      if (best && !best->Of<WaitDetails>().crossed) break;
    }
    if (best) incidents_.push_back(std::move(*best));
  }

  Incident MakeCycle(const DeviceOperation& operation, const std::vector<uint32_t>& group) const {
    Incident incident = Make(What::kCycle, operation);
    incident.deviating = group;
    incident.agreeing = operation.first;
    const uint32_t here = operation.first.front();
    const uint32_t there = group.front();
    const OpenRequest* oldest = OldestHandedOver(analysis_.trace, analysis_.trace.processes[there]);
    const Event* theirs = oldest != nullptr ? &oldest->event : analysis_.CurrentEvent(there);
    incident.deviating_event = theirs;
    const bool enqueued = Contains(operation.behind, there);
    // If the sides use two groups in opposite order, either both have made the same number of calls
    // on both groups, or each has made fewer on one of them. If only one side has made fewer, it
    // skipped a call.
    const bool numbered = theirs != nullptr && theirs->sequence != 0 && theirs->member != kNoIndex;
    const bool left_out = MadeMore(operation.communicator, here, there) &&
                          !(numbered && MadeMore(analysis_.CommunicatorOf(*theirs), there, here));
    incident.Set<WaitDetails>().crossed =
        !left_out && theirs != nullptr &&
        (enqueued || !HasPassed(analysis_, there, *theirs, here, *operation.event));
    incident.tie = incident.deviating.size() == incident.agreeing.size();
    if (incident.agreeing.size() < incident.deviating.size()) {
      SwapSides(analysis_.trace, &incident);
    }
    return incident;
  }

  bool MadeMore(uint32_t communicator, uint32_t process, uint32_t than) const {
    const MemberHistory* a = analysis_.HistoryOf(communicator, process);
    const MemberHistory* b = analysis_.HistoryOf(communicator, than);
    return a != nullptr && b != nullptr && a->entered > b->entered;
  }

  // Both ends are named, because their records do not show which of them has made a call too many.
  void AddMessages(const std::vector<const DeviceOperation*>& messages, bool posted) {
    Incident incident = Make(What::kMessage, *messages.front());
    incident.Set<MessageDetails>().mutual = posted;
    incident.deviating_event = messages.front()->event;
    incident.agreeing_event = nullptr;
    for (const DeviceOperation* message : messages) {
      for (const uint32_t p : {message->sender, message->receiver}) {
        if (p != kNoIndex) incident.deviating.push_back(p);
      }
    }
    incident.deviating = Without(std::move(incident.deviating), {});
    incidents_.push_back(std::move(incident));
  }

  const std::vector<bool>& lags_;
  std::vector<std::vector<uint32_t>> next_;
  std::vector<uint32_t> hosts_;
};

}  // namespace

std::vector<uint32_t> FindDeviceCauses(const Analysis& analysis, const std::vector<bool>& lags,
                                       std::vector<Incident>* incidents) {
  return CauseFinder(analysis, lags, incidents).Find();
}

}  // namespace rollcall
