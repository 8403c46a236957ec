// SPDX-License-Identifier: Apache-2.0
// Finds rings of ranks that wait for each other.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/graph/components.h"
#include "collector/matching/caller.h"

namespace rollcall {
namespace {

using What = Incident::What;

// The edges of vertex `v`. Vertices are processes, then collective nodes, then receives from any
// source. Edges lead to the vertices that `v` waits for; only stuck processes count.
std::vector<uint32_t> WaitsFor(const Analysis& analysis, uint32_t v) {
  const WaitGraph& graph = analysis.graph;
  const auto processes = static_cast<uint32_t>(graph.processes.size());
  const auto nodes = static_cast<uint32_t>(graph.nodes.size());
  std::vector<uint32_t> next;
  const auto add_stuck = [&](const std::vector<uint32_t>& some) {
    std::copy_if(some.begin(), some.end(), std::back_inserter(next),
                 [&](uint32_t p) { return analysis.IsStuck(p); });
  };
  if (v >= processes + nodes) {
    add_stuck(graph.any_source[v - processes - nodes].members);
  } else if (v >= processes) {
    add_stuck(graph.nodes[v - processes].missing);
  } else {
    for (const WaitDependency& dependency : graph.processes[v].dependencies) {
      if (dependency.node != kNoIndex) {
        next.push_back(processes + dependency.node);
      } else if (dependency.any_source != kNoIndex) {
        next.push_back(processes + nodes + dependency.any_source);
      } else {
        add_stuck({dependency.process});
      }
    }
  }
  return next;
}

// Under MPI_THREAD_MULTIPLE another thread may answer. A thread that has called MPI is known: it
// cannot answer while it waits in a call itself. A thread that has not called MPI is unknown, but
// the longer nothing moves, the less likely there is such a thread.
constexpr int64_t kAlongsideNs = 10'000'000'000;

bool MayAnswerItself(const Analysis& analysis, uint32_t p) {
  const Process& process = analysis.trace.processes[p];
  if (process.thread_level >= 0 && process.thread_level <= 2) return false;
  for (uint32_t thread = 0; thread < process.threads.size(); ++thread) {
    const bool inside = std::ranges::any_of(
        process.open_calls, [=](const OpenCall& call) { return call.event.thread == thread; });
    if (!inside && !process.threads[thread].ended) return true;
  }
  return !analysis.options.job_ended && analysis.IdleNs(p) < kAlongsideNs;
}

// The dependency of a stuck process that only the process itself could satisfy; nullptr if there is
// none.
const WaitDependency* DependencyOnItself(const Analysis& analysis, uint32_t p) {
  const ProcessView& view = analysis.graph.processes[p];
  if (!analysis.IsStuck(p) || view.activity != Activity::kBlocked) return nullptr;
  const auto own = [&](const WaitDependency& dependency) {
    if (dependency.node != kNoIndex || dependency.event == nullptr || dependency.unmarked != 0)
      return false;
    return dependency.process == p ||
           (dependency.any_source != kNoIndex && analysis.graph.Candidates(dependency) == 0);
  };
  const auto first = std::ranges::find_if(view.dependencies, own);
  if (first == view.dependencies.end()) return nullptr;
  if (view.any && !std::ranges::all_of(view.dependencies, own)) return nullptr;
  return MayAnswerItself(analysis, p) ? nullptr : &*first;
}

class CycleFinder {
 public:
  CycleFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), incidents_(*incidents) {}

  // Finds processes that wait for themselves.
  void LookAtThemselves() {
    for (uint32_t p = 0; p < analysis_.graph.processes.size(); ++p) {
      const WaitDependency* dependency = DependencyOnItself(analysis_, p);
      if (dependency == nullptr) continue;
      AddMessage({p}, false);
      incidents_.back().Set<MessageDetails>().itself = true;
      incidents_.back().deviating_event = dependency->event;
      themselves_.push_back(p);
    }
  }

  void CheckComponent(const std::vector<uint32_t>& component) {
    // A process that waits for itself is the cause.
    if (std::ranges::any_of(themselves_,
                            [&](uint32_t p) { return std::ranges::binary_search(component, p); })) {
      return;
    }
    const size_t processes = analysis_.graph.processes.size();
    // A process is also the cause if its message was sent to another rank or with another tag.
    if (std::ranges::any_of(component,
                            [&](uint32_t v) { return v < processes && HasStray(incidents_, v); })) {
      return;
    }
    std::optional<Incident> past;
    std::optional<Incident> crossed;
    std::vector<uint32_t> by_message;
    bool nodes = false;
    bool arms = false;
    for (const uint32_t v : component) {
      if (v < processes) {
        if (WaitsForMessage(v)) by_message.push_back(v);
        continue;
      }
      if (v >= processes + analysis_.graph.nodes.size()) continue;
      nodes = true;
      const CollectiveNode& node = analysis_.graph.nodes[v - processes];
      // If calls do not match, the mismatch is the cause, and has been found.
      if (analysis_.IsMismatched(node) || Explained(incidents_, node.communicator, node.sequence))
        return;
      // Members that finalized instead are the cause, and have been found.
      if (LeftFrom(node)) return;
      std::vector<uint32_t> within;
      for (const uint32_t p : node.missing) {
        if (std::ranges::binary_search(component, p)) within.push_back(p);
      }
      const std::vector<uint32_t> gone_past = RanksPast(analysis_, node, within);
      if (!gone_past.empty()) {
        Judge(node, gone_past, true, &past);
        continue;
      }
      arms |= StandInArms(node, within);
      std::map<std::tuple<uint32_t, uint64_t, uint64_t>, std::vector<uint32_t>> groups;
      for (const uint32_t p : within) {
        const Event* stands = PlaceInOrder(analysis_, p);
        if (stands == nullptr) continue;
        groups[{analysis_.CommunicatorOf(*stands), stands->sequence, analysis_.Site(*stands)}]
            .push_back(p);
      }
      for (auto& [key, group] : groups) {
        const bool by_tasks = IsCalledByTasks(node, group.front());
        Judge(node, group, by_tasks, by_tasks ? &past : &crossed);
      }
    }
    if (past) {
      if (past->tie && HasWitness(*past)) past->tie = false;
      incidents_.push_back(std::move(*past));
    } else if (!by_message.empty()) {
      std::vector<uint32_t> ring = by_message;
      for (const uint32_t v : component) {
        if (arms && v < processes && !WaitsForMessage(v)) ring.push_back(v);
      }
      AddMessages(ring, !nodes || arms, nodes);
    } else if (crossed) {
      BreakTie(&*crossed);
      incidents_.push_back(std::move(*crossed));
    }
  }

 private:
  // Whether the ranks inside called the collective in tasks of an executor. The process `missing`
  // then runs no task, and waits for a result that will not come.
  bool IsCalledByTasks(const CollectiveNode& node, uint32_t missing) const {
    const Event* waiting = WaitingAt(node);
    const Event* stands = PlaceInOrder(analysis_, missing);
    if (waiting == nullptr || stands == nullptr) return false;
    const std::optional<Caller> caller =
        FindCaller(analysis_.sites, waiting->call_path, stands->call_path);
    return caller && caller->kind == Caller::Kind::kTask;
  }

  // The call of one of the processes inside; nullptr if it is not known.
  const Event* WaitingAt(const CollectiveNode& node) const {
    if (node.inside.empty()) return nullptr;
    return CallOrPlace(analysis_, node.communicator, node.sequence, node.inside.front(),
                       node.start);
  }

  // Whether some of `missing` are in one arm of a branch and the waiting members in another arm. If
  // so, none of them skipped the call of the other side.
  bool StandInArms(const CollectiveNode& node, const std::vector<uint32_t>& missing) const {
    const Event* waiting = WaitingAt(node);
    return waiting != nullptr && std::ranges::any_of(missing, [&](uint32_t p) {
             const Event* stands = PlaceInOrder(analysis_, p);
             return stands != nullptr &&
                    analysis_.sites.ComparePaths(waiting->call_path, stands->call_path).arms;
           });
  }

  bool WaitsForMessage(uint32_t process) const {
    const std::vector<WaitDependency>& dependencies =
        analysis_.graph.processes[process].dependencies;
    return std::ranges::any_of(
        dependencies, [](const WaitDependency& dependency) { return dependency.node == kNoIndex; });
  }

  bool LeftFrom(const CollectiveNode& node) const {
    return std::ranges::any_of(incidents_, [&node](const Incident& incident) {
      return incident.what == What::kLeft && incident.communicator == node.communicator &&
             incident.sequence == node.sequence;
    });
  }

  void Judge(const CollectiveNode& node, const std::vector<uint32_t>& group, bool went_past,
             std::optional<Incident>* best) {
    const std::vector<uint32_t> there =
        went_past ? RanksComing(analysis_, node, group) : RanksEntered(analysis_, node);
    if (there.empty() || node.inside.empty()) return;
    const std::vector<uint32_t> voters = went_past ? there : UsersOfBoth(there, group.front());
    Incident incident;
    incident.what = What::kCycle;
    incident.communicator = node.communicator;
    incident.sequence = node.sequence;
    incident.start = node.start;
    incident.hangs = true;
    incident.deviating = group;
    incident.agreeing = voters.empty() ? there : voters;
    incident.tie = voters.empty() || voters.size() == group.size();
    const Event* waiting = WaitingAt(node);
    const Event* stands = PlaceInOrder(analysis_, group.front());
    if (waiting == nullptr || stands == nullptr) return;
    incident.agreeing_event = waiting;
    incident.deviating_event = stands;
    if (incident.agreeing.size() < group.size()) {
      SwapSides(analysis_.trace, &incident);
    }
    incident.Set<WaitDetails>().crossed = !went_past;
    Keep(std::move(incident), best);
  }

  // Breaks a tie of one rank against one. If neither rank has used the call site of one rank
  // before, and both have used the call site of the other rank, the rank at the new call site
  // deviates.
  void BreakTie(Incident* incident) const {
    if (!incident->tie || incident->deviating.empty() || incident->agreeing.empty()) return;
    const uint32_t one = incident->deviating.front();
    const uint32_t other = incident->agreeing.front();
    const Event* here = PlaceInOrder(analysis_, one);
    const Event* there = PlaceInOrder(analysis_, other);
    if (here == nullptr || there == nullptr) return;
    // The call in which a rank waits there now does not count.
    const auto used = [this](uint32_t p, uint32_t owner, const Event& place) {
      const std::vector<const Event*> all = analysis_.Timeline(p);
      return std::ranges::any_of(all, [&](const Event* event) {
        const bool earlier = p != owner || event->start_ns < place.start_ns;
        return earlier && analysis_.Site(*event) == analysis_.Site(place);
      });
    };
    const auto by_both = [&](uint32_t owner, const Event& place) {
      return used(one, owner, place) && used(other, owner, place);
    };
    const auto by_none = [&](uint32_t owner, const Event& place) {
      return !used(one, owner, place) && !used(other, owner, place);
    };
    if (by_both(one, *here) && by_none(other, *there)) {
      SwapSides(analysis_.trace, incident);
    } else if (!by_none(one, *here) || !by_both(other, *there)) {
      return;
    }
    incident->tie = false;
  }

  // Whether a third rank shows that the call was skipped. It is at the place to which the deviating
  // rank continued, and made the skipped call since its last visit there, perhaps on another
  // communicator.
  bool HasWitness(const Incident& incident) const {
    if (incident.agreeing.size() != 1 || incident.deviating.size() != 1) return false;
    const Event* stands = PlaceInOrder(analysis_, incident.deviating.front());
    if (stands == nullptr || incident.agreeing_event == nullptr) return false;
    const uint64_t place = analysis_.Site(*stands);
    const uint64_t skipped = analysis_.Site(*incident.agreeing_event);
    for (uint32_t p = 0; p < analysis_.graph.processes.size(); ++p) {
      if (p == incident.deviating.front() || p == incident.agreeing.front()) continue;
      const Event* there = PlaceInOrder(analysis_, p);
      if (there == nullptr || analysis_.Site(*there) != place) continue;
      const std::vector<const Event*> all = analysis_.Timeline(p);
      bool made = false;
      // From the latest call backwards, up to the last visit.
      for (auto event = all.rbegin(); event != all.rend(); ++event) {
        if ((*event)->start_ns >= there->start_ns) continue;
        const uint64_t site = analysis_.Site(**event);
        if (site == place) break;
        made |= site == skipped;
      }
      if (made) return true;
    }
    return false;
  }

  // The members of `there` that are also members of the communicator of the call of `process`: only
  // they call on both communicators. All of `there` if `process` is in no call on a communicator.
  std::vector<uint32_t> UsersOfBoth(const std::vector<uint32_t>& there, uint32_t process) const {
    const Event* stands = PlaceInOrder(analysis_, process);
    if (stands == nullptr || stands->member == kNoIndex) return there;
    const uint32_t other = analysis_.CommunicatorOf(*stands);
    std::vector<uint32_t> both;
    for (const uint32_t p : there) {
      if (analysis_.HistoryOf(other, p) != nullptr) both.push_back(p);
    }
    return both;
  }

  // Keeps the incident with the fewest deviating ranks, and among equals the one with the most
  // agreeing ranks. If two incidents are equal in both, the kept one is a tie.
  static void Keep(Incident incident, std::optional<Incident>* best) {
    const auto weight = [](const Incident& one) {
      return std::pair(one.deviating.size(), -static_cast<ptrdiff_t>(one.agreeing.size()));
    };
    if (!*best || weight(incident) < weight(**best)) {
      *best = std::move(incident);
    } else if (weight(incident) == weight(**best) && incident.deviating != (*best)->deviating) {
      (*best)->tie = true;
    }
  }

  // Whether the process may wait for a dead rank. If so, the dead rank is the cause, and has been
  // found.
  bool WaitsForTheDead(uint32_t process) const {
    const std::vector<WaitDependency>& dependencies =
        analysis_.graph.processes[process].dependencies;
    return std::ranges::any_of(dependencies, [this](const WaitDependency& dependency) {
      return !analysis_.graph.Candidates(dependency, Activity::kEnded).empty();
    });
  }

  void AddMessages(const std::vector<uint32_t>& waiters, bool mutual, bool rests_on_order) {
    // A dead rank is the cause, and so is a process that waits for partitions that it has to mark
    // itself. Both have been found.
    if (std::ranges::any_of(waiters, [this](uint32_t p) {
          return WaitsForTheDead(p) || analysis_.graph.OwnUnmarked(p) != nullptr;
        })) {
      return;
    }
    AddMessage(waiters, mutual);
    incidents_.back().Set<MessageDetails>().rests_on_order = rests_on_order;
  }

  void AddMessage(const std::vector<uint32_t>& waiters, bool mutual) {
    Incident incident;
    incident.what = What::kMessage;
    incident.hangs = true;
    incident.Set<MessageDetails>().mutual = mutual;
    incident.deviating = waiters;
    const Event* event = nullptr;
    for (const WaitDependency& dependency :
         analysis_.graph.processes[waiters.front()].dependencies) {
      if (dependency.node == kNoIndex) event = dependency.event;
    }
    if (event == nullptr) event = analysis_.CurrentEvent(waiters.front());
    incident.deviating_event = event;
    if (event != nullptr) incident.communicator = analysis_.CommunicatorOf(*event);
    incidents_.push_back(std::move(incident));
  }

  const Analysis& analysis_;
  std::vector<Incident>& incidents_;
  std::vector<uint32_t> themselves_;
};

}  // namespace

void SwapSides(const Trace& trace, Incident* incident) {
  std::swap(incident->deviating, incident->agreeing);
  std::swap(incident->deviating_event, incident->agreeing_event);
  const Event* place = incident->agreeing_event;
  if (place == nullptr || place->sequence == 0 || place->member == kNoIndex) return;
  incident->communicator = trace.members[place->member].communicator;
  incident->sequence = place->sequence;
  incident->start = 0;
}

void FindCycles(const Analysis& analysis, std::vector<Incident>* incidents) {
  CycleFinder finder(analysis, incidents);
  finder.LookAtThemselves();
  const WaitGraph& graph = analysis.graph;
  const size_t processes = graph.processes.size();
  std::vector<uint32_t> stuck;
  for (uint32_t p = 0; p < processes; ++p) {
    if (analysis.IsStuck(p)) stuck.push_back(p);
  }
  const Components components = FindComponents(
      static_cast<uint32_t>(processes + graph.nodes.size() + graph.any_source.size()), stuck,
      [&](uint32_t v) { return WaitsFor(analysis, v); });
  for (const std::vector<uint32_t>& component : components.members) {
    // A component with one process is no ring: the process is only a member of its own any-source
    // wait.
    if (component.size() > 1 && component[1] < processes) finder.CheckComponent(component);
  }
}

}  // namespace rollcall
