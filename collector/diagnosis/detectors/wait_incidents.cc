// SPDX-License-Identifier: Apache-2.0
// Finds ranks that wait for something that will not come: from dead ranks, from ranks that left,
// from ranks that compute, or from each other.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/near_miss.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/graph/stillness.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

using What = Incident::What;

// Merges findings about the same ranks for the same reason, at the place where most ranks wait.
class Gatherer {
 public:
  Gatherer(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), incidents_(*incidents) {}

  void Add(What what, const CollectiveNode& node, std::vector<uint32_t> missing) {
    std::ranges::sort(missing);
    Incident incident;
    incident.what = what;
    incident.communicator = node.communicator;
    incident.sequence = node.sequence;
    incident.start = node.start;
    incident.hangs = true;
    const std::vector<uint32_t> there =
        what == What::kLeft ? RanksComing(analysis_, node, missing) : WhoEntered(analysis_, node);
    // If ranks left, or wait in a ring, the smaller side deviates; otherwise the missing ranks do.
    const bool choose = what == What::kLeft || what == What::kCycle;
    incident.tie = choose && there.size() == missing.size();
    if (choose && there.size() < missing.size()) {
      incident.deviating = there;
      incident.agreeing = missing;
    } else {
      incident.deviating = missing;
      incident.agreeing = there;
    }
    const auto event_of = [&](const std::vector<uint32_t>& side) {
      // For a persistent collective, a rank that still waits shows the start that it waits for.
      const bool came = node.start != 0 && side == there && !node.inside.empty();
      return CallOrPlace(analysis_, node.communicator, node.sequence,
                         came ? node.inside.front() : side.front(), node.start);
    };
    incident.deviating_event = event_of(incident.deviating);
    incident.agreeing_event = event_of(incident.agreeing);
    const auto [entry, added] =
        known_.emplace(std::pair(what, std::move(missing)), incidents_.size());
    if (added) {
      incidents_.push_back(std::move(incident));
      return;
    }
    Incident& first = incidents_[entry->second];
    if (incident.agreeing.size() > first.agreeing.size()) first = std::move(incident);
  }

  void AddMessage(What what, uint32_t waiter, const WaitDependency& dependency,
                  std::vector<uint32_t> missing) {
    Incident incident;
    incident.what = what;
    incident.hangs = true;
    incident.communicator = analysis_.CommunicatorOf(*dependency.event);
    incident.agreeing = {waiter};
    incident.deviating = std::move(missing);
    incident.agreeing_event = dependency.event;
    incident.deviating_event =
        incident.deviating.empty() ? nullptr : analysis_.CurrentEvent(incident.deviating.front());
    if (what == What::kMessage) {
      if (dependency.process == waiter)
        incident.Set<MessageDetails>().unmarked = dependency.unmarked;
      // The unanswered call deviates: the rank that should have answered may be right.
      std::swap(incident.deviating, incident.agreeing);
      std::swap(incident.deviating_event, incident.agreeing_event);
    }
    const auto [entry, added] =
        known_.emplace(std::pair(what, incident.deviating), incidents_.size());
    if (added) {
      incidents_.push_back(std::move(incident));
    } else if (what != What::kMessage) {
      incidents_[entry->second].agreeing.push_back(waiter);
    }
  }

 private:
  const Analysis& analysis_;
  std::vector<Incident>& incidents_;
  std::map<std::pair<What, std::vector<uint32_t>>, size_t> known_;
};

bool Has(const Analysis& analysis, uint32_t process, Activity activity) {
  return analysis.graph.processes[process].activity == activity;
}

std::vector<uint32_t> Those(const Analysis& analysis, const std::vector<uint32_t>& processes,
                            Activity activity) {
  std::vector<uint32_t> result;
  for (const uint32_t process : processes) {
    if (Has(analysis, process, activity)) result.push_back(process);
  }
  return result;
}

// Whether calls have matched the wrong calls since the incident. Later hangs on the communicator
// are then consequences.
bool OutOfStep(const Incident& incident) {
  return incident.what == What::kShift ||
         (incident.what == What::kCalls && incident.mismatch.kind == MismatchKind::kOperation);
}

// Whether the incident already explains why the node hangs. The same call with different arguments
// leaves sequence numbers unchanged. It stops only the ranks inside it (see call_incidents.cc), so
// a rank that is missing in a later call has a reason of its own.
bool Explains(const Analysis& analysis, const Incident& incident, const CollectiveNode& node) {
  if (incident.communicator != node.communicator || incident.sequence > node.sequence) return false;
  return OutOfStep(incident) || (incident.what == What::kCalls && analysis.IsMismatched(node));
}

bool StandsStill(const Analysis& analysis, const CollectiveNode& node) {
  return analysis.AllStill(node.inside) &&
         analysis.AllStill(Those(analysis, node.missing, Activity::kRunning));
}

// The incident whose mismatched call returned an error to all of `gone`, and so explains why they
// left. nullptr if one of `gone` has another reason.
Incident* WhyTheyLeft(const Analysis& analysis, const std::vector<uint32_t>& gone,
                      std::vector<Incident>* incidents) {
  if (gone.empty()) return nullptr;
  for (Incident& incident : *incidents) {
    if (incident.what != What::kCalls) continue;
    const bool all = std::ranges::all_of(gone, [&](uint32_t p) {
      const std::vector<Event>& events = analysis.trace.processes[p].lifecycle;
      return std::ranges::any_of(events, [&](const Event& event) {
        return analysis.Op(event) == Operation::kCallError && event.member != kNoIndex &&
               analysis.CommunicatorOf(event) == incident.communicator &&
               event.sequence >= incident.sequence;
      });
    });
    if (all) return &incident;
  }
  return nullptr;
}

// The missing members without which no rank inside can continue. A rank in a neighborhood
// collective needs its neighbors only. With other collectives, libraries differ in what a rank
// waits for.
std::vector<uint32_t> Needed(const Analysis& analysis, const CollectiveNode& node) {
  const auto number = static_cast<uint32_t>(&node - analysis.graph.nodes.data());
  const auto on_topology = [&](const Event& event) {
    return IsOnTopology(FindOperation(static_cast<uint16_t>(analysis.Op(event))).rule);
  };
  std::set<uint32_t> needed;
  for (const uint32_t process : node.inside) {
    for (const WaitDependency& dependency : analysis.graph.processes[process].dependencies) {
      if (dependency.node != number) continue;
      if (!on_topology(*dependency.event)) return node.missing;
      // All of its neighbors have entered the call, or have no trace.
      const bool neighbors_came = dependency.relevant.empty() && !dependency.strict;
      if (neighbors_came && !node.absent.empty()) continue;
      if (dependency.relevant.empty()) return node.missing;
      needed.insert(dependency.relevant.begin(), dependency.relevant.end());
    }
  }
  return {needed.begin(), needed.end()};
}

// Finds the reason why the ranks inside the node hang.
void ExamineNode(const Analysis& analysis, const CollectiveNode& node, Gatherer* gatherer,
                 std::vector<Incident>* incidents) {
  const std::vector<uint32_t> needed = Needed(analysis, node);
  for (Incident& incident : *incidents) {
    if (!Explains(analysis, incident, node)) continue;
    const bool stops = !needed.empty() || analysis.IsMismatched(node);
    incident.hangs |= stops && OutOfStep(incident) && StandsStill(analysis, node);
    return;
  }
  if (needed.empty()) return;
  std::vector<uint32_t> dead = Those(analysis, needed, Activity::kEnded);
  std::vector<uint32_t> left = Those(analysis, needed, Activity::kLeft);
  std::vector<uint32_t> behind = Those(analysis, needed, Activity::kRunning);
  std::vector<uint32_t> gone = dead;
  gone.insert(gone.end(), left.begin(), left.end());
  if (Incident* cause = behind.empty() ? WhyTheyLeft(analysis, gone, incidents) : nullptr) {
    cause->hangs |= StandsStill(analysis, node);
    return;
  }
  if (!dead.empty()) gatherer->Add(What::kDeath, node, dead);
  if (!left.empty()) {
    const std::optional<Shift>& shift = analysis.ShiftOf(node.communicator);
    if (!shift || shift->sequence > node.sequence) {
      // Other ranks that have passed the call and wait elsewhere are added to the side that left,
      // if this side is then the majority or as large as the other.
      std::vector<uint32_t> past;
      for (const uint32_t p : node.missing) {
        if (analysis.Waits(p)) past.push_back(p);
      }
      past = RanksPast(analysis, node, past);
      past.insert(past.begin(), left.begin(), left.end());
      const size_t there = RanksComing(analysis, node, past).size();
      gatherer->Add(What::kLeft, node, there <= past.size() ? past : left);
    }
  }
  if (!behind.empty()) gatherer->Add(What::kNotArrived, node, behind);
}

void LookAtShift(const Analysis& analysis, const CollectiveNode& node,
                 std::vector<Incident>* incidents) {
  const std::optional<Shift>& shift = analysis.ShiftOf(node.communicator);
  if (!shift || shift->sequence > node.sequence || node.missing.empty()) return;
  if (Explained(*incidents, node.communicator, node.sequence)) return;
  // The history is examined only for calls that cannot complete, because moving ranks are often out
  // of step.
  const bool stuck =
      std::ranges::any_of(node.inside, [&](uint32_t process) { return analysis.IsStuck(process); });
  if (!stuck) return;
  Incident incident = ShiftIncident(analysis.histories[node.communicator], *shift);
  incident.hangs = true;
  incident.deviating_event =
      CallOrPlace(analysis, incident.communicator, incident.sequence, incident.deviating.front());
  incident.agreeing_event =
      CallOrPlace(analysis, incident.communicator, incident.sequence, incident.agreeing.front());
  incidents->push_back(std::move(incident));
}

// Decides again which side of a mismatch is the smaller one. Members that wait elsewhere count for
// the side whose call they would make next.
void CountThoseOnTheirWay(const Analysis& analysis, Incident* incident) {
  const Event* ours = incident->agreeing_event;
  const Event* theirs = incident->deviating_event;
  const bool operations = incident->what == What::kCalls && incident->hangs &&
                          incident->mismatch.kind == MismatchKind::kOperation;
  const CollectiveNode* node =
      operations ? analysis.NodeOf(incident->communicator, incident->sequence) : nullptr;
  if (node == nullptr || ours == nullptr || theirs == nullptr) return;
  size_t agreeing = incident->agreeing.size();
  size_t deviating = incident->deviating.size();
  NextCall calls(analysis, *ours, *theirs);
  for (const uint32_t p : node->missing) {
    const int next = calls.Of(p);
    (next < 0 ? agreeing : deviating) += next != 0;
  }
  incident->tie = agreeing == deviating;
  if (agreeing < deviating) SwapSides(analysis.trace, incident);
}

void LookAtMessages(const Analysis& analysis, Gatherer* gatherer,
                    std::vector<Incident>* incidents) {
  for (uint32_t p = 0; p < analysis.graph.processes.size(); ++p) {
    const ProcessView& view = analysis.graph.processes[p];
    // If the process waits for any of several events, and one may have happened, it may continue.
    if (!analysis.Waits(p) || (view.any && view.released) || HasStray(*incidents, p)) continue;
    const WaitGraph& graph = analysis.graph;
    const WaitDependency* own = graph.OwnUnmarked(p);
    if (own != nullptr && analysis.IsStuck(p)) gatherer->AddMessage(What::kMessage, p, *own, {});
    // If the process waits for any of several events, one that may still happen is enough.
    const bool another = view.any && !analysis.IsStuck(p) && view.activity != Activity::kPolling;
    for (const WaitDependency& dependency : view.dependencies) {
      if (dependency.node != kNoIndex || dependency.event == nullptr) continue;
      const std::vector<uint32_t> dead = graph.Candidates(dependency, Activity::kEnded);
      const std::vector<uint32_t> left = graph.Candidates(dependency, Activity::kLeft);
      const std::vector<uint32_t> behind = graph.Candidates(dependency, Activity::kRunning);
      std::vector<uint32_t> gone = dead;
      gone.insert(gone.end(), left.begin(), left.end());
      if (Incident* cause = behind.empty() && gone.size() == graph.Candidates(dependency)
                                ? WhyTheyLeft(analysis, gone, incidents)
                                : nullptr) {
        cause->hangs |= analysis.Still(p);
        continue;
      }
      if (!behind.empty()) {
        // Only a single rank can be called late, because any of several ranks may still send.
        if (behind.size() == 1) gatherer->AddMessage(What::kNotArrived, p, dependency, behind);
      } else if (!dead.empty() && (analysis.IsStuck(p) || graph.Candidates(dependency) == 1)) {
        // The dead ranks are named among the ranks that could have answered. It is not known why
        // they did not answer.
        gatherer->AddMessage(What::kDeath, p, dependency, dead);
      } else if (!left.empty() && left.size() == graph.Candidates(dependency) && !another) {
        gatherer->AddMessage(What::kMessage, p, dependency, left);
      }
    }
  }
}

// Whether the call also needs processes that are not known members, after all members have entered.
bool NodeNeedsOutsiders(const Analysis& analysis, const CollectiveNode& node) {
  return std::ranges::any_of(node.inside, [&](uint32_t p) {
    const Event* call = CallOrPlace(analysis, node.communicator, node.sequence, p, node.start);
    return call != nullptr && NeedsOutsiders(analysis, *call);
  });
}

// Whether the process waits only for collectives in which all members have arrived. A process that
// waits for several requests may wait for another one.
bool WaitsForArrivedOnly(const Analysis& analysis, uint32_t process) {
  const ProcessView& view = analysis.graph.processes[process];
  const auto arrived = [&](const WaitDependency& dependency) {
    if (dependency.node == kNoIndex) return false;
    const CollectiveNode& node = analysis.graph.nodes[dependency.node];
    return node.missing.empty() && !analysis.IsMismatched(node) && !node.unknown;
  };
  const bool polling = view.activity == Activity::kPolling;
  // A process that polls with work in between is outside MPI and may not wait for anything.
  const Process& record = analysis.trace.processes[process];
  const Thread* poller = polling ? WaitingPoller(analysis.options, record) : nullptr;
  if (poller != nullptr && poller->polls_tightly_since_ns == kNoTime) return false;
  // If there are several threads, each waits for its own event.
  const bool alone = record.open_calls.size() == 1;
  const Kind kind = view.open == nullptr ? Kind::kNone : analysis.KindOf(view.open->event);
  if (alone && !polling && (kind == Kind::kWaitany || kind == Kind::kWaitsome)) {
    return std::ranges::any_of(view.dependencies, arrived);
  }
  // A message that may be on its way, or that cannot be judged, is not among the dependencies, but
  // is not known to have arrived, either.
  size_t active = 0;
  for (const OpenRequest& request : analysis.trace.processes[process].open_requests) {
    if (request.state != ring::RequestState::kActive) continue;
    active += polling || (view.open != nullptr && Contains(view.open->requests, request.uid));
  }
  if (active > view.dependencies.size()) return false;
  return std::ranges::all_of(view.dependencies, arrived);
}

// A process that waits for a request that it has cancelled waits for no other process (MPI 4.0,
// 3.8.4).
void LookAtCancelled(const Analysis& analysis, std::vector<Incident>* incidents) {
  Incident incident;
  incident.what = What::kCancelled;
  incident.hangs = true;
  for (uint32_t p = 0; p < analysis.graph.processes.size(); ++p) {
    const ProcessView& view = analysis.graph.processes[p];
    if (view.open == nullptr || !analysis.Waits(p) || !analysis.StoodStill(p)) continue;
    if (!view.any && !view.dependencies.empty()) continue;  // it waits for other events as well
    const OpenRequest* cancelled = nullptr;
    for (const OpenRequest& request : analysis.trace.processes[p].open_requests) {
      const bool active = request.state == ring::RequestState::kActive && request.cancelled;
      const std::vector<uint64_t>& awaited = view.open->requests;
      if (active && Contains(awaited, request.uid)) {
        cancelled = &request;
      }
    }
    if (cancelled == nullptr) continue;
    incident.agreeing.push_back(p);
    if (incident.agreeing_event != nullptr) continue;
    incident.agreeing_event = &view.open->event;
    incident.communicator = analysis.CommunicatorOf(cancelled->event);
  }
  if (!incident.agreeing.empty()) incidents->push_back(std::move(incident));
}

bool ForLongEnough(const Analysis& analysis, const CollectiveNode& node) {
  return analysis.no_progress_ns >= analysis.options.stall_after_ns ||
         std::ranges::all_of(node.inside,
                             [&](uint32_t process) { return analysis.WasJudged(process); });
}

// Whether an earlier mismatch may have left data that blocks the ranks in this node, where all
// calls match and all members have arrived. Two different reductions leave no data: each side got
// as much as it expected.
bool LeavesOver(const Incident& incident, const CollectiveNode& node) {
  return incident.communicator == node.communicator && incident.sequence != 0 &&
         incident.sequence <= node.sequence &&
         (incident.what == What::kShift ||
          (incident.what == What::kCalls && incident.mismatch.kind != MismatchKind::kReduceOp));
}

// True if nothing more has to be reported about this node.
bool ExplainedByLeftovers(const Analysis& analysis, const CollectiveNode& node,
                          std::vector<Incident>* incidents) {
  const bool just_came = std::ranges::any_of(
      node.inside, [&](uint32_t process) { return analysis.EnteredRecently(process); });
  bool explained = false;
  for (Incident& incident : *incidents) {
    if (!LeavesOver(incident, node)) continue;
    explained = true;
    incident.hangs |= !just_came;
  }
  return explained;
}

// Whether a rank that should send the message sent a similar one.
bool SentAnother(const Analysis& analysis, const Incident& incident) {
  if (incident.deviating_event == nullptr) return false;
  const std::optional<NearMiss> near =
      FindNearMiss(analysis, incident.deviating.front(), *incident.deviating_event);
  return near && Contains(incident.agreeing, near->other);
}

// Drops incidents about messages that are missing because their sender is the cause of another
// hang: one user call may consist of messages and collectives. An incident stays if the sender sent
// a similar message, because a receive with a wrong tag is a fault of its own.
void DropMessagesOfCulprits(const Analysis& analysis, std::vector<Incident>* incidents) {
  const auto is_culprit = [&](uint32_t process) {
    return std::ranges::any_of(*incidents, [&](const Incident& other) {
      return other.hangs && !other.tie && other.what != What::kMessage &&
             Contains(other.deviating, process);
    });
  };
  std::vector<Incident> kept;
  for (const Incident& incident : *incidents) {
    const bool other_cause = incident.what == What::kMessage &&
                             !incident.Of<MessageDetails>().mutual && !incident.agreeing.empty() &&
                             std::ranges::all_of(incident.agreeing, is_culprit) &&
                             !SentAnother(analysis, incident);
    if (!other_cause) kept.push_back(incident);
  }
  *incidents = std::move(kept);
}

}  // namespace

bool NeedsOutsiders(const Analysis& analysis, const Event& call) {
  switch (analysis.KindOf(call)) {
    case Kind::kCreateIntercomm:
    case Kind::kSpawn:
    case Kind::kJoin:
      return true;
    default:
      break;
  }
  if (call.member == kNoIndex) return false;
  const uint32_t communicator = analysis.CommunicatorOf(call);
  return HasOutsiders(analysis.trace.communicators[communicator]);
}

namespace {

// The members that have made a call with the node's number, which may be another call: its record
// is lost, and no checkpoint shows that it is the call of another member.
std::vector<uint32_t> WithLostCall(const Analysis& analysis, const CollectiveNode& node) {
  std::vector<uint32_t> lost;
  if (node.start != 0) return lost;
  const CommunicatorHistory& histories = analysis.histories[node.communicator];
  std::vector<uint32_t> shown;
  for (uint32_t i = 0; i < histories.members.size(); ++i) {
    const MemberHistory& history = histories.members[i];
    if (history.entered < node.sequence) continue;
    if (history.At(node.sequence) == nullptr) {
      lost.push_back(history.process);
      continue;
    }
    for (const uint32_t other : histories.WithoutRecord(i, node.sequence)) {
      shown.push_back(histories.members[other].process);
    }
  }
  return Without(std::move(lost), shown);
}

}  // namespace

void FindWaitIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  for (const CollectiveNode& node : analysis.graph.nodes) LookAtShift(analysis, node, incidents);
  Gatherer gatherer(analysis, incidents);
  for (const CollectiveNode& node : analysis.graph.nodes) {
    ExamineNode(analysis, node, &gatherer, incidents);
  }
  for (Incident& incident : *incidents) CountThoseOnTheirWay(analysis, &incident);
  FindStrays(analysis, incidents);
  LookAtMessages(analysis, &gatherer, incidents);
  LookAtCancelled(analysis, incidents);
  FindCycles(analysis, incidents);
  FindUnevenRounds(analysis, incidents);
  DropMessagesOfCulprits(analysis, incidents);

  for (const CollectiveNode& node : analysis.graph.nodes) {
    if (analysis.IsMismatched(node) || node.unknown) continue;
    if (!node.missing.empty() || node.inside.empty()) continue;
    // A rank that died inside the collective has entered it, and is not among the missing ranks.
    const std::vector<MemberHistory>& members = analysis.histories[node.communicator].members;
    if (std::ranges::any_of(members, [&](const MemberHistory& history) {
          return Has(analysis, history.process, Activity::kEnded);
        })) {
      continue;
    }
    if (!analysis.AllStill(node.inside)) continue;
    if (ExplainedByLeftovers(analysis, node, incidents)) continue;
    if (!ForLongEnough(analysis, node) || NodeNeedsOutsiders(analysis, node)) continue;
    Incident incident;
    for (const uint32_t process : node.inside) {
      if (WaitsForArrivedOnly(analysis, process)) incident.agreeing.push_back(process);
    }
    if (incident.agreeing.empty()) continue;
    if (node.absent.empty()) incident.deviating = WithLostCall(analysis, node);
    incident.tie = !incident.deviating.empty();
    incident.what = !node.absent.empty() ? What::kAbsent
                    : incident.tie       ? What::kLost
                                         : What::kAllArrived;
    incident.communicator = node.communicator;
    incident.sequence = node.sequence;
    incident.start = node.start;
    incident.hangs = true;
    incident.absent = node.absent;
    incident.agreeing_event = CallOrPlace(analysis, node.communicator, node.sequence,
                                          incident.agreeing.front(), node.start);
    incidents->push_back(std::move(incident));
  }
}

}  // namespace rollcall
