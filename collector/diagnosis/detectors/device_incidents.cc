// First causes among operations that wait on devices: what the graph of device_waits.h leads to.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/graph/components.h"
#include "collector/matching/data_matching.h"

namespace rollcall {
namespace {

using What = Incident::What;

class DeviceFinder {
 public:
  DeviceFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis),
        waits_(analysis.device),
        incidents_(*incidents),
        processes_(static_cast<uint32_t>(analysis.trace.processes.size())),
        was_judged_(WasJudged()) {}

  void Find() {
    FindShifts();
    MarkHangs();
    FindUneven();
    FindLags();
    BuildEdges();
    JudgeSinks();
    AddHosts();
    AddIdleHosts();
  }

 private:
  bool IsExplained(const DeviceOperation& operation) const {
    const bool uneven = std::any_of(
        waits_.uneven.begin(), waits_.uneven.end(), [&operation](const DeviceUneven& message) {
          return operation.IsMessage() && operation.communicator == message.communicator &&
                 operation.sender == message.sender && operation.receiver == message.receiver &&
                 operation.nth >= message.nth;
        });
    return uneven || !operation.judged ||
           (operation.sequence != 0 &&
            Explained(incidents_, operation.communicator, operation.sequence));
  }

  // Not long enough to say that it stands still. When the picture was taken is known only where the
  // file has kept its time; a dump is written when something has waited for long, or on demand.
  // Both times are of the rank's own host: clocks of others may differ by minutes.
  bool IsRecent(uint32_t process, const Event& event) const {
    const int64_t own_ns = analysis_.trace.processes[process].taken_at_ns;
    const int64_t taken_ns = own_ns != kNoTime ? own_ns : analysis_.trace.taken_at_ns;
    if (was_judged_) return false;
    if (taken_ns != kNoTime && event.start_ns == kNoTime) return !analysis_.options.job_ended;
    return taken_ns != kNoTime && event.start_ns != kNoTime && taken_ns >= event.start_ns &&
           taken_ns - event.start_ns < analysis_.options.stall_after_ns;
  }
  // Somebody watched the job while it ran, and had waited long enough: it was looked into, or
  // ended.
  bool WasJudged() const {
    for (uint32_t p = 0; p < processes_; ++p) {
      if (analysis_.WasJudged(p) || analysis_.WasLookedInto(p)) return true;
    }
    return false;
  }
  bool IsRecent(const DeviceOperation& operation) const {
    for (const uint32_t p : operation.first) {
      if (IsRecent(p, OldestHandedOver(analysis_.trace.processes[p])->event)) return true;
    }
    return false;
  }
  // A host that waits for its device, and was seen twice in one place: what it waits for stands
  // still however short the time, where it lacks something. That all is there and nothing moves
  // still takes time to say.
  bool HostWaits(uint32_t p) const {
    const Process& process = analysis_.trace.processes[p];
    if (!process.quiet) return false;
    const auto waits = [this](uint32_t q) {
      const OpenCall* open = analysis_.graph.processes[q].open;
      return open != nullptr && analysis_.KindOf(open->event) == Kind::kHostWait;
    };
    return waits(p) || std::any_of(process.held_up_by.begin(), process.held_up_by.end(), waits);
  }
  // With nothing open that is on record, it waits for a graph: its device may stand in one of the
  // graph's operations, for somebody who has not launched it.
  bool MayWaitForGraph(uint32_t p) const {
    const OpenCall* open = analysis_.graph.processes[p].open;
    return analysis_.trace.processes[p].graphs && open != nullptr &&
           analysis_.KindOf(open->event) == Kind::kHostWait;
  }
  bool MayMove(const DeviceOperation& operation) const {
    const bool all_wait = std::all_of(operation.first.begin(), operation.first.end(),
                                      [this](uint32_t p) { return HostWaits(p); });
    return !(all_wait && !operation.first.empty()) && IsRecent(operation);
  }

  // A call left out pairs its followers with those of the others: the history of call sites shows
  // where, the operation that stands still does not.
  void FindShifts() {
    for (const DeviceOperation& operation : waits_.operations) {
      if (operation.IsMessage() || IsExplained(operation) || MayMove(operation)) continue;
      if (operation.missing.empty() && operation.behind.empty()) continue;
      const std::optional<Shift>& shift = analysis_.ShiftOf(operation.communicator);
      if (!shift || shift->sequence > operation.sequence) continue;
      Incident incident = ShiftIncident(analysis_.histories[operation.communicator], *shift);
      incident.hangs = true;
      const auto call = [&](uint32_t p) {
        return CallOrPlace(analysis_, incident.communicator, incident.sequence, p);
      };
      incident.deviating_event = call(incident.deviating.front());
      incident.agreeing_event = call(incident.agreeing.front());
      incidents_.push_back(std::move(incident));
    }
  }

  // Whoever waits in what is out of step waits because of that.
  void MarkHangs() {
    for (const DeviceOperation& operation : waits_.operations) {
      if (operation.IsMessage() || MayMove(operation)) continue;
      for (Incident& incident : incidents_) {
        if ((incident.what == What::kCalls || incident.what == What::kShift) &&
            incident.communicator == operation.communicator &&
            incident.sequence <= operation.sequence) {
          incident.hangs = true;
        }
      }
    }
  }

  void FindUneven() {
    const Trace& trace = analysis_.trace;
    for (const DeviceUneven& message : waits_.uneven) {
      const Arguments& send = analysis_.Args(*message.send);
      const Arguments& recv = analysis_.Args(*message.recv);
      Mismatch mismatch;
      mismatch.kind =
          send.send_datatype == recv.recv_datatype ? MismatchKind::kCount : MismatchKind::kDatatype;
      mismatch.pair = true;
      mismatch.deviating_value = DataText(trace, send.send_datatype, send.send_count);
      mismatch.agreeing_value = DataText(trace, recv.recv_datatype, recv.recv_count);
      incidents_.push_back(MessageIncident(message.sender, *message.send, message.receiver,
                                           *message.recv, message.communicator,
                                           std::move(mismatch)));
      incidents_.back().hangs = message.send->end_ns == kNoTime || message.recv->end_ns == kNoTime;
    }
  }

  void FindLags() {
    lags_.assign(processes_, false);
    std::map<std::pair<uint32_t, uint64_t>, std::vector<const DeviceLag*>> by_operation;
    for (const DeviceLag& lag : waits_.lags) {
      if (IsRecent(lag.process, *lag.event)) continue;
      if (lag.sequence != 0 && Explained(incidents_, lag.communicator, lag.sequence)) continue;
      if (lag.sequence == 0 && IsExplained(waits_.operations[waits_.oldest[lag.process]])) continue;
      by_operation[{lag.communicator, lag.sequence}].push_back(&lag);
    }
    // One fault per finding: the operation that shows most of them first.
    std::vector<const std::vector<const DeviceLag*>*> order;
    for (const auto& [key, list] : by_operation) order.push_back(&list);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      if (a->size() != b->size()) return a->size() > b->size();
      return a->front()->event->start_ns < b->front()->event->start_ns;
    });
    for (const auto* list : order) {
      Incident incident;
      incident.what = What::kDeviceLag;
      incident.hangs = true;
      incident.communicator = list->front()->communicator;
      incident.sequence = list->front()->sequence;
      incident.deviating_event = list->front()->event;
      for (const DeviceLag* lag : *list) {
        if (!lags_[lag->process]) incident.deviating.push_back(lag->process);
        lags_[lag->process] = true;
      }
      if (incident.deviating.empty()) continue;
      for (const MemberHistory& history : analysis_.histories[incident.communicator].members) {
        if (incident.sequence == 0 || history.entered < incident.sequence) continue;
        const Event* event = history.At(incident.sequence);
        if (event != nullptr ? event->end_ns != kNoTime
                             : history.member->completed >= incident.sequence) {
          incident.agreeing.push_back(history.process);
          if (event != nullptr) incident.agreeing_event = event;
        }
      }
      incidents_.push_back(std::move(incident));
    }
  }

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

  // A host inside a call of MPI's waits for other hosts, and its device gets nothing new meanwhile.
  void AddHostEdges(uint32_t p) {
    const ProcessView& view = analysis_.graph.processes[p];
    if (view.activity != Activity::kBlocked || !analysis_.Still(p)) return;
    // Or for another device of its own.
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

  // Waiting ends in the components that no edge leaves.
  void JudgeSinks() {
    std::vector<uint32_t> waiting;
    for (uint32_t p = 0; p < processes_; ++p) {
      if (waits_.oldest[p] != kNoIndex) waiting.push_back(p);
    }
    const Components components = FindComponents(static_cast<uint32_t>(next_.size()), waiting,
                                                 [this](uint32_t v) { return next_[v]; });
    const auto stays = [&](uint32_t v) {
      return std::all_of(next_[v].begin(), next_[v].end(),
                         [&](uint32_t to) { return components.of[to] == components.of[v]; });
    };
    for (const std::vector<uint32_t>& members : components.members) {
      if (std::all_of(members.begin(), members.end(), stays)) Judge(members);
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
      const bool idle = OldestHandedOver(analysis_.trace.processes[p]) == nullptr;
      // In a call of another kind it is judged with that. One that waits for its device, with
      // nothing of NCCL's there, is late because of something else that runs there.
      if (activity == Activity::kBlocked && !(idle && HostWaits(p))) return;
      if (LeftCommunicator(p)) return AddGone(p, Activity::kLeft);
      if (idle && !lags_[p] && !MayWaitForGraph(p)) hosts_.push_back(p);
    } else {
      JudgeCycle(processes, operations);
    }
  }

  Incident Make(What what, const DeviceOperation& operation) const {
    Incident incident;
    incident.what = what;
    incident.communicator = operation.communicator;
    incident.sequence = operation.sequence;
    incident.hangs = true;
    incident.agreeing_event = operation.event;
    return incident;
  }

  // Others wait in something on a communicator that this one destroyed, aborted or revoked.
  bool LeftCommunicator(uint32_t p) const {
    return std::any_of(
        waits_.operations.begin(), waits_.operations.end(), [&](const DeviceOperation& operation) {
          const std::vector<uint32_t>& missing = operation.missing;
          return !operation.IsMessage() && Contains(missing, p) && HasLeft(p, operation);
        });
  }
  bool HasLeft(uint32_t p, const DeviceOperation& operation) const {
    const MemberHistory* history = analysis_.HistoryOf(operation.communicator, p);
    return history != nullptr && (history->member->state == ring::MemberState::kFreed ||
                                  HasStopped(*history->member, history->At(operation.sequence)));
  }

  // Others wait for one that is no more, where most do.
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
      if (incident.deviating.front() != p) return;  // it was judged with the first of them
    }
    incident.deviating_event = analysis_.LastCall(p);
    // Most came to their end without it: those who wait in it are the odd ones.
    if (!best->IsMessage() &&
        incident.deviating.size() > best->first.size() + best->behind.size()) {
      std::swap(incident.deviating, incident.agreeing);
      std::swap(incident.deviating_event, incident.agreeing_event);
    }
    incidents_.push_back(std::move(incident));
  }

  // One end of a host process, for all of its devices.
  bool WentWithAnother(uint32_t p) {
    const std::vector<Process>& all = analysis_.trace.processes;
    for (Incident& incident : incidents_) {
      if (incident.what != What::kDeath && incident.what != What::kLeft) continue;
      std::vector<uint32_t>& gone = incident.deviating;
      const bool shared = std::any_of(gone.begin(), gone.end(), [&](uint32_t q) {
        return q == p || ShareProcess(all[q], all[p]);
      });
      if (!shared) continue;
      if (!Contains(gone, p)) gone.push_back(p);
      return true;
    }
    return false;
  }

  // What stands first is told by what it lacks: another operation of its group may be what stands
  // still, or one behind it, with somebody who died in it.
  bool MayWaitForTheDead(const DeviceOperation& operation) const {
    const auto has_dead = [this](const OpenRequest& request) {
      const uint32_t c = analysis_.CommunicatorOf(request.event);
      const std::vector<MemberHistory>& histories = analysis_.histories[c].members;
      return std::any_of(histories.begin(), histories.end(), [this](const MemberHistory& history) {
        return analysis_.graph.processes[history.process].activity == Activity::kEnded;
      });
    };
    return std::any_of(operation.first.begin(), operation.first.end(), [&](uint32_t p) {
      const std::vector<OpenRequest>& requests = analysis_.trace.processes[p].open_requests;
      return std::any_of(requests.begin(), requests.end(), has_dead);
    });
  }

  bool Made(uint32_t process, const DeviceOperation& operation) const {
    const MemberHistory* history = analysis_.HistoryOf(operation.communicator, process);
    return history != nullptr && history->entered >= operation.sequence;
  }

  // Everybody who is to be waited for is in it.
  void JudgeOperation(const DeviceOperation& operation) {
    if (IsExplained(operation) || IsRecent(operation)) return;
    if (!operation.absent.empty()) {
      Incident incident = Make(What::kAbsent, operation);
      incident.agreeing = operation.first;
      incident.absent = operation.absent;
      incidents_.push_back(std::move(incident));
      return;
    }
    // Where some may leave early, those who are left wait for one of them.
    const bool some_done =
        !operation.done.empty() && (operation.IsMessage() || operation.first.size() == 1 ||
                                    NeedsAll(analysis_.Op(*operation.event)));
    const std::vector<uint32_t>& slow = some_done ? operation.first : operation.idle;
    const bool held_elsewhere = std::any_of(slow.begin(), slow.end(), [&](uint32_t p) {
      return MayBeHeldByItsGroup(analysis_.trace, analysis_.histories, p,
                                 OldestHandedOver(analysis_.trace.processes[p])->event);
    });
    if (held_elsewhere) return;  // judged with what holds it up
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
        if (std::binary_search(processes.begin(), processes.end(), p)) result.push_back(p);
      }
      return result;
    };
    // A message that was not posted explains a circle; a collective that is only behind something
    // else does not.
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
        if (!best || std::tuple(incident.circle.crossed, incident.tie, incident.deviating.size()) <
                         std::tuple(best->circle.crossed, best->tie, best->deviating.size())) {
          best = std::move(incident);
        }
      }
      if (best && !best->circle.crossed) break;
    }
    if (best) incidents_.push_back(std::move(*best));
  }

  Incident MakeCycle(const DeviceOperation& operation, const std::vector<uint32_t>& group) const {
    Incident incident = Make(What::kCycle, operation);
    incident.deviating = group;
    incident.agreeing = operation.first;
    const uint32_t here = operation.first.front();
    const uint32_t there = group.front();
    const OpenRequest* oldest = OldestHandedOver(analysis_.trace.processes[there]);
    const Event* theirs = oldest != nullptr ? &oldest->event : analysis_.Stands(there);
    incident.deviating_event = theirs;
    const bool enqueued = Contains(operation.behind, there);
    // In opposite order, both sides make as many calls on either group, or each fewer on one of
    // them. Where only one side made fewer, it left one out.
    const bool numbered = theirs != nullptr && theirs->sequence != 0 && theirs->member != kNoIndex;
    const bool left_out = MadeMore(operation.communicator, here, there) &&
                          !(numbered && MadeMore(analysis_.CommunicatorOf(*theirs), there, here));
    incident.circle.crossed =
        !left_out && theirs != nullptr &&
        (enqueued || !WentPast(analysis_, there, *theirs, here, *operation.event));
    incident.tie = incident.deviating.size() == incident.agreeing.size();
    if (incident.agreeing.size() < incident.deviating.size()) {
      TurnAround(analysis_.trace, &incident);
    }
    return incident;
  }

  bool MadeMore(uint32_t communicator, uint32_t process, uint32_t than) const {
    const MemberHistory* a = analysis_.HistoryOf(communicator, process);
    const MemberHistory* b = analysis_.HistoryOf(communicator, than);
    return a != nullptr && b != nullptr && a->entered > b->entered;
  }

  // Both ends are named: which of the two has one call too many, the two do not say.
  void AddMessages(const std::vector<const DeviceOperation*>& messages, bool posted) {
    Incident incident = Make(What::kMessage, *messages.front());
    incident.message.mutual = posted;
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

  // Those who stopped in the same place are one finding.
  void AddHosts() {
    std::vector<bool> wanted(processes_, false);
    for (const uint32_t p : hosts_) wanted[p] = true;
    const auto held_up = [&](const DeviceOperation& operation) {
      std::vector<uint32_t> result;
      for (const auto* list : {&operation.missing, &operation.unknown}) {
        for (const uint32_t p : *list) {
          if (wanted[p]) result.push_back(p);
        }
      }
      return result;
    };
    while (true) {
      const DeviceOperation* best = nullptr;
      std::vector<uint32_t> best_hosts;
      for (const DeviceOperation& operation : waits_.operations) {
        if (IsExplained(operation) || IsRecent(operation)) continue;
        std::vector<uint32_t> hosts = held_up(operation);
        if (hosts.empty()) continue;
        if (best == nullptr || std::pair(hosts.size(), operation.first.size()) >
                                   std::pair(best_hosts.size(), best->first.size())) {
          best = &operation;
          best_hosts = std::move(hosts);
        }
      }
      if (best == nullptr) return;
      for (const uint32_t p : best_hosts) wanted[p] = false;
      AddHostsOf(*best, std::move(best_hosts));
    }
  }

  // A host that has nothing open and is behind the others waits for nobody either, where those have
  // not come to wait for it: they still wait for somebody else.
  void AddIdleHosts() {
    std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> idle;
    std::vector<bool> known(processes_, false);
    for (const Incident& incident : incidents_) {
      for (const uint32_t p : incident.deviating) known[p] = true;
    }
    for (size_t c = 0; c < analysis_.histories.size(); ++c) {
      const CommunicatorHistory& histories = analysis_.histories[c];
      for (const MemberHistory& history : histories.members) {
        const Process& process = analysis_.trace.processes[history.process];
        if (!process.device || OldestHandedOver(process) != nullptr || !history.member->counted)
          continue;
        if (known[history.process] || history.entered >= histories.highest) continue;
        if (MayWaitForGraph(history.process)) continue;
        if (analysis_.graph.processes[history.process].activity != Activity::kRunning) continue;
        idle[{static_cast<uint32_t>(c), history.entered + 1}].push_back(history.process);
      }
    }
    for (auto& [key, hosts] : idle) {
      std::erase_if(hosts, [&](uint32_t p) { return known[p]; });
      DeviceOperation operation;
      operation.communicator = key.first;
      operation.sequence = key.second;
      for (const MemberHistory& history : analysis_.histories[key.first].members) {
        const Event* event = history.At(key.second);
        if (event == nullptr || event->end_ns != kNoTime) continue;
        operation.first.push_back(history.process);
        operation.event = event;
      }
      if (hosts.empty() || operation.event == nullptr || IsExplained(operation) ||
          IsRecent(operation.first.back(), *operation.event)) {
        continue;
      }
      for (const uint32_t p : hosts) known[p] = true;
      AddHostsOf(operation, std::move(hosts));
    }
  }

  void AddHostsOf(const DeviceOperation& operation, std::vector<uint32_t> hosts) {
    std::vector<uint32_t> there = operation.first;
    there.insert(there.end(), operation.behind.begin(), operation.behind.end());
    Incident incident = Make(What::kBehind, operation);
    incident.agreeing = there;
    incident.deviating = std::move(hosts);
    incident.deviating_event = analysis_.LastCall(incident.deviating.front());
    if (incident.deviating.size() > there.size() && !operation.IsMessage() &&
        !Expected(operation, incident.deviating.front())) {
      // Most have done nothing of the kind where a few wait: those are the odd ones.
      incident.what = What::kLeft;
      std::swap(incident.deviating, incident.agreeing);
      std::swap(incident.deviating_event, incident.agreeing_event);
    }
    incidents_.push_back(std::move(incident));
  }

  // Did this call follow the process' last one before? If that was never made before, it may.
  bool Expected(const DeviceOperation& operation, uint32_t process) const {
    const MemberHistory* history = analysis_.HistoryOf(operation.communicator, process);
    if (history == nullptr || history->member->events.size() < 2) return true;
    const std::vector<Event>& events = history->member->events;
    const auto same = [&](const Event& a, const Event& b) {
      return analysis_.Site(a) == analysis_.Site(b);
    };
    bool made_before = false;
    for (size_t i = 0; i + 1 < events.size(); ++i) {
      if (!same(events[i], events.back())) continue;
      made_before = true;
      if (same(events[i + 1], *operation.event)) return true;
    }
    return !made_before;
  }

  const Analysis& analysis_;
  const DeviceWaits& waits_;
  std::vector<Incident>& incidents_;
  const uint32_t processes_;
  const bool was_judged_;
  std::vector<bool> lags_;
  std::vector<std::vector<uint32_t>> next_;
  std::vector<uint32_t> hosts_;
};

}  // namespace

void FindDeviceIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (analysis.device.any) DeviceFinder(analysis, incidents).Find();
}

}  // namespace rollcall
