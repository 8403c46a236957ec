// SPDX-License-Identifier: Apache-2.0
// Finds ranks that wait in an initialization that other ranks have not entered: MPI_Init, and calls
// that make a communicator from an id (ncclCommInitRank) or over a group (MPI_Comm_create_group).
// Creations that are collective on a parent are handled with the other collectives.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/deaths.h"

namespace rollcall {
namespace {

using What = Incident::What;

// A launch on many nodes takes minutes without any record. A start is called hung after this many
// times the time after which a rank is called stalled.
constexpr int64_t kStartTakes = 4;

class StartFinder {
 public:
  StartFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), trace_(analysis.trace), incidents_(*incidents) {}

  void Find() {
    // A hang elsewhere also keeps ranks from arriving here.
    something_hangs_ =
        std::ranges::any_of(incidents_, [](const Incident& incident) { return incident.hangs; });
    for (const Creation& creation : trace_.creations) {
      if (creation.event.end_ns == kNoTime) creating_.insert(creation.process);
    }
    for (uint32_t w = 0; w < trace_.worlds.size(); ++w) CheckWorld(w);
    LookAtGroups();
    LookAtCreations();
    LookAtStores();
  }

 private:
  // Whether all of `inside` have not moved for long.
  bool StandsStill(const std::vector<uint32_t>& inside, int64_t times = 1) const {
    return std::ranges::all_of(inside, [&](uint32_t p) { return analysis_.StoodStill(p, times); });
  }

  std::vector<uint32_t> Dead(const std::vector<uint32_t>& of) const {
    std::vector<uint32_t> dead;
    for (const uint32_t p : of) {
      if (analysis_.graph.processes[p].activity == Activity::kEnded) dead.push_back(p);
    }
    return dead;
  }

  void AddDeath(std::vector<uint32_t> dead, std::vector<uint32_t> inside) {
    Incident incident;
    incident.what = What::kDeath;
    incident.hangs = true;
    incident.deviating_event = analysis_.CurrentEvent(dead.front());
    incident.deviating = std::move(dead);
    incident.agreeing = std::move(inside);
    incidents_.push_back(std::move(incident));
  }

  const Event* OpenStart(const Process& process) const {
    for (const OpenCall& call : process.open_calls) {
      if (analysis_.KindOf(call.event) == Kind::kInit) return &call.event;
    }
    return nullptr;
  }

  // Checks MPI_Init of one launch.
  void CheckWorld(uint32_t w) {
    const World& world = trace_.worlds[w];
    Incident incident;
    incident.what = What::kStart;
    incident.hangs = true;
    incident.Set<StartDetails>().expected = world.size < 0 ? 0 : static_cast<uint64_t>(world.size);
    std::vector<uint32_t> others;
    for (size_t rank = 0; rank < world.processes.size(); ++rank) {
      const uint32_t p = world.processes[rank];
      if (p == kNoIndex) {
        incident.absent.push_back(static_cast<int32_t>(rank));
        continue;
      }
      const Event* start = OpenStart(trace_.processes[p]);
      if (start == nullptr || analysis_.graph.processes[p].activity == Activity::kEnded) {
        others.push_back(p);
        continue;
      }
      incident.agreeing.push_back(p);
      incident.agreeing_event = start;
    }
    if (incident.agreeing.empty()) return;
    std::vector<uint32_t> dead = Dead(others);
    std::erase_if(
        dead, [this](uint32_t p) { return trace_.processes[p].phase != ring::Phase::kStarting; });
    if (!dead.empty()) return AddDeath(std::move(dead), std::move(incident.agreeing));
    if (!something_hangs_ && StandsStill(incident.agreeing, kStartTakes)) {
      incidents_.push_back(std::move(incident));
    }
  }

  // Examines creations over a group. The record of an open call does not show which other ranks
  // belong to the group.
  void LookAtGroups() {
    std::map<std::tuple<uint32_t, Operation, int32_t>, Incident> groups;
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      for (const OpenCall& call : trace_.processes[p].open_calls) {
        const Kind kind = analysis_.KindOf(call.event);
        if (kind != Kind::kCreateGroup && kind != Kind::kCreateFromGroup &&
            kind != Kind::kIntercommFromGroups) {
          continue;
        }
        const uint32_t parent = analysis_.CommunicatorOf(call.event);
        Incident& incident =
            groups[{parent, analysis_.Op(call.event), analysis_.Args(call.event).tag}];
        incident.what = What::kStart;
        incident.hangs = true;
        incident.communicator = parent;
        incident.agreeing.push_back(p);
        incident.agreeing_event = &call.event;
      }
    }
    for (auto& [key, incident] : groups) {
      if (something_hangs_ || !StandsStill(incident.agreeing)) continue;
      incidents_.push_back(std::move(incident));
    }
  }

  void LookAtCreations() {
    std::map<uint64_t, std::vector<uint32_t>> by_key;
    for (uint32_t i = 0; i < trace_.creations.size(); ++i) {
      by_key[trace_.creations[i].key].push_back(i);
    }
    for (const auto& [key, entrants] : by_key) {
      if (IsRendezvous(entrants)) LookAtRendezvous(entrants);
    }
    for (const auto& [key, entrants] : by_key) {
      if (IsRendezvous(entrants) || started_wrong_.contains(WorldOf(entrants))) continue;
      const bool open = std::ranges::any_of(
          entrants, [this](uint32_t i) { return trace_.creations[i].event.end_ns == kNoTime; });
      if (!DifferInSize(entrants) && !SameRankTwice(entrants) && open) NotAllCame(entrants);
    }
  }

  bool IsRendezvous(const std::vector<uint32_t>& creations) const {
    return !trace_.creations[creations.front()].endpoint.empty();
  }

  uint32_t WorldOf(const std::vector<uint32_t>& creations) const {
    return trace_.processes[trace_.creations[creations.front()].process].world;
  }

  // Examines the rendezvous, where the ranks of a job of torch.distributed meet. If it is
  // incomplete, waits in other calls of the start have the same reason: a rank that has not come.
  void LookAtRendezvous(std::vector<uint32_t> entrants) {
    DropEarlierStarts(&entrants);
    std::map<std::string, std::vector<uint32_t>> by_endpoint;
    for (const uint32_t i : entrants) by_endpoint[trace_.creations[i].endpoint].push_back(i);
    bool wrong = false;
    // One run may have several jobs. Ranks at an endpoint that all its ranks have reached belong to
    // no other job.
    std::vector<uint32_t> incomplete;
    for (const auto& [endpoint, members] : by_endpoint) {
      if (TwoWithOneRank(members)) {
        wrong = true;
      } else if (std::ranges::any_of(members, [&, n = members.size()](uint32_t i) {
                   return trace_.creations[i].size != static_cast<int32_t>(n);
                 })) {
        incomplete.insert(incomplete.end(), members.begin(), members.end());
      }
    }
    const std::vector<uint32_t> waiting = Starting(incomplete);
    if (!wrong && !waiting.empty()) {
      wrong = EndpointsDiffer(incomplete, waiting) || SizesDiffer(incomplete, waiting) ||
              SomeAreAbsent(incomplete, waiting);
    }
    if (!wrong) return;
    for (const uint32_t i : entrants) {
      started_wrong_.insert(trace_.processes[trace_.creations[i].process].world);
    }
  }

  // The time when the process ended, by its own mark or as observed. kNoTime: the process lives, or
  // the time is not known.
  static int64_t EndNs(const Process& process) {
    if (!IsGone(process)) return kNoTime;
    return process.exit_ns != kNoTime ? process.exit_ns : process.end.at_ns;
  }

  // Drops ranks that ended before their last restart: torchrun restarts ranks.
  void DropEarlierStarts(std::vector<uint32_t>* entrants) const {
    std::map<int32_t, int64_t> last;
    for (const uint32_t i : *entrants) {
      int64_t& start = last[trace_.creations[i].rank];
      start = std::max(start, trace_.creations[i].event.start_ns);
    }
    std::erase_if(*entrants, [&](uint32_t i) {
      const Creation& creation = trace_.creations[i];
      const int64_t end_ns = EndNs(trace_.processes[creation.process]);
      return end_ns != kNoTime && end_ns <= last[creation.rank];
    });
  }

  // The processes that are inside a call of the start.
  std::vector<uint32_t> Starting(const std::vector<uint32_t>& entrants) const {
    std::vector<uint32_t> starting = Processes(entrants);
    std::erase_if(starting, [this](uint32_t p) {
      return !IsCreating(p) || analysis_.graph.processes[p].activity == Activity::kEnded;
    });
    return starting;
  }

  Incident Met(uint32_t first, std::vector<uint32_t> waiting, StartDetails::Of differs) const {
    Incident incident;
    incident.what = What::kStart;
    incident.hangs = analysis_.AllStill(waiting);
    StartDetails& details = incident.Set<StartDetails>();
    details.index = first;
    details.expected = static_cast<uint64_t>(std::max(trace_.creations[first].size, 0));
    details.rendezvous = true;
    details.differs = differs;
    if (differs != StartDetails::Of::kNothing) incident.mismatch.kind = MismatchKind::kCount;
    incident.agreeing = std::move(waiting);
    return incident;
  }

  // Adds the incident if it has lasted long enough, because a rank may start later than the others.
  void AddMet(Incident incident, int64_t times) {
    if (!something_hangs_ && StandsStill(incident.agreeing, times)) {
      incidents_.push_back(std::move(incident));
    }
  }

  bool TwoWithOneRank(const std::vector<uint32_t>& entrants) {
    std::map<int32_t, std::vector<uint32_t>> by_rank;
    for (const uint32_t i : entrants) by_rank[trace_.creations[i].rank].push_back(i);
    for (const auto& [rank, members] : by_rank) {
      if (rank < 0 || members.size() < 2) continue;
      const std::vector<uint32_t> waiting = Starting(entrants);
      Incident incident = Met(members.front(), waiting, StartDetails::Of::kRank);
      incident.hangs &= !waiting.empty();
      incident.deviating = Processes(members);
      incident.mismatch.deviating_value = std::to_string(rank);
      for (int32_t other = 0; other < trace_.creations[members.front()].size; ++other) {
        if (!by_rank.contains(other)) incident.Set<StartDetails>().unused.push_back(other);
      }
      incidents_.push_back(std::move(incident));
      return true;
    }
    return false;
  }

  // Splits the ranks by a text of each rank. False if the text is the same for all ranks. The side
  // with fewer ranks deviates.
  template <typename Text>
  bool Split(const std::vector<uint32_t>& entrants, const Text& text, Incident* incident) const {
    std::map<std::string, std::vector<uint32_t>> by_text;
    for (const uint32_t i : entrants) by_text[text(trace_.creations[i])].push_back(i);
    if (by_text.size() < 2) return false;
    const auto most = std::ranges::max_element(
        by_text, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    std::vector<uint32_t> deviating;
    for (const auto& [value, members] : by_text) {
      if (value == most->first) continue;
      deviating.insert(deviating.end(), members.begin(), members.end());
      incident->mismatch.deviating_value = value;
      incident->tie |= members.size() == most->second.size();
    }
    incident->mismatch.agreeing_value = most->first;
    incident->deviating = Processes(deviating);
    incident->agreeing = Without(Processes(most->second), incident->deviating);
    return true;
  }

  bool SizesDiffer(const std::vector<uint32_t>& entrants, const std::vector<uint32_t>& waiting) {
    Incident incident = Met(entrants.front(), waiting, StartDetails::Of::kSize);
    const auto size = [](const Creation& creation) { return std::to_string(creation.size); };
    if (!Split(entrants, size, &incident)) return false;
    AddMet(std::move(incident), 1);
    return true;
  }

  // Different endpoints count only if a deviating rank is still inside, because one host may have
  // several names.
  bool EndpointsDiffer(const std::vector<uint32_t>& entrants,
                       const std::vector<uint32_t>& waiting) {
    Incident incident = Met(entrants.front(), waiting, StartDetails::Of::kEndpoint);
    const auto endpoint = [](const Creation& creation) { return creation.endpoint; };
    if (!Split(entrants, endpoint, &incident)) return false;
    const std::vector<uint32_t> connecting = Inside(entrants);
    const bool stuck = std::ranges::any_of(incident.deviating, [&connecting](uint32_t p) {
      return std::ranges::binary_search(connecting, p);
    });
    if (!stuck) return false;
    AddMet(std::move(incident), 1);
    return true;
  }

  bool SomeAreAbsent(const std::vector<uint32_t>& entrants, const std::vector<uint32_t>& waiting) {
    Incident incident = Met(entrants.front(), waiting, StartDetails::Of::kNothing);
    std::set<int32_t> came;
    for (const uint32_t i : entrants) came.insert(trace_.creations[i].rank);
    for (int32_t rank = 0; rank < trace_.creations[entrants.front()].size; ++rank) {
      if (!came.contains(rank)) incident.absent.push_back(rank);
    }
    if (incident.absent.empty()) return false;
    AddMet(std::move(incident), kStartTakes);
    return true;
  }

  const OpenCall* StoreWaitOf(uint32_t p) const {
    const OpenCall* open = analysis_.graph.processes[p].open;
    return open != nullptr && IsStoreWait(analysis_.Op(open->event)) ? open : nullptr;
  }

  // Examines waits for keys of a store: the key, in one world, for which most ranks wait.
  void LookAtStores() {
    std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> by_key;
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      if (const OpenCall* open = StoreWaitOf(p)) {
        by_key[{trace_.processes[p].world, analysis_.Args(open->event).semantic_hash}].push_back(p);
      }
    }
    if (by_key.empty()) return;
    const auto most = std::ranges::max_element(
        by_key, [](auto& a, auto& b) { return a.second.size() < b.second.size(); });
    const World& world = trace_.worlds[most->first.first];
    Incident incident;
    incident.what = What::kStart;
    incident.hangs = true;
    incident.Set<StartDetails>().store = true;
    incident.agreeing = most->second;
    incident.agreeing_event = &StoreWaitOf(most->second.front())->event;
    std::vector<uint32_t> others;
    for (size_t rank = 0; rank < world.processes.size(); ++rank) {
      if (world.processes[rank] == kNoIndex) {
        incident.absent.push_back(static_cast<int32_t>(rank));
      } else {
        others.push_back(world.processes[rank]);
      }
    }
    others = Without(std::move(others), incident.agreeing);
    // It is not known which rank sets the key. If the waiting ranks are a minority, they may wait
    // for all others, or for one of them.
    const bool few = others.size() < incident.agreeing.size();
    // If the minority waits elsewhere for the ranks inside, it did not come to the store. The
    // incident of its wait is a consequence of that.
    if (few && incidents_.size() == 1 && LaggingRanksAreIn(most->second, incidents_.front())) {
      incidents_.clear();
    } else if (something_hangs_ || !incidents_.empty()) {
      return;
    }
    std::vector<uint32_t> dead = Dead(others);
    if (!StandsStill(incident.agreeing) || !StandsStill(Without(others, dead))) return;
    if (!dead.empty()) return AddDeath(std::move(dead), std::move(incident.agreeing));
    if (few) incident.deviating = std::move(others);
    incidents_.push_back(std::move(incident));
  }

  static bool LaggingRanksAreIn(const std::vector<uint32_t>& inside, const Incident& incident) {
    return incident.what == What::kNotArrived && !incident.tie &&
           std::ranges::all_of(incident.deviating, [&inside](uint32_t p) {
             return std::ranges::find(inside, p) != inside.end();
           });
  }

  std::vector<uint32_t> Processes(const std::vector<uint32_t>& creations) const {
    std::vector<uint32_t> processes;
    processes.reserve(creations.size());
    for (const uint32_t i : creations) processes.push_back(trace_.creations[i].process);
    return Without(std::move(processes), {});
  }

  std::vector<uint32_t> Inside(const std::vector<uint32_t>& creations) const {
    std::vector<uint32_t> inside;
    for (const uint32_t i : creations) {
      if (trace_.creations[i].event.end_ns == kNoTime) {
        inside.push_back(trace_.creations[i].process);
      }
    }
    return Without(std::move(inside), {});
  }

  bool DifferInSize(const std::vector<uint32_t>& entrants) {
    std::map<int32_t, std::vector<uint32_t>> by_size;
    for (const uint32_t i : entrants) by_size[trace_.creations[i].size].push_back(i);
    by_size.erase(-1);
    if (by_size.size() < 2) return false;
    auto most = by_size.begin();
    bool tie = false;
    for (auto it = std::next(most); it != by_size.end(); ++it) {
      tie = it->second.size() == most->second.size() ||
            (tie && it->second.size() < most->second.size());
      if (it->second.size() > most->second.size()) most = it;
    }
    Incident incident;
    for (const auto& [size, members] : by_size) {
      if (size == most->first) continue;
      const std::vector<uint32_t> some = Processes(members);
      incident.deviating.insert(incident.deviating.end(), some.begin(), some.end());
      incident.mismatch.deviating_value = std::to_string(size);
    }
    incident.agreeing = Processes(most->second);
    incident.mismatch.agreeing_value = std::to_string(most->first);
    incident.tie = tie;
    AddWrong(entrants, std::move(incident));
    return true;
  }

  bool SameRankTwice(const std::vector<uint32_t>& entrants) {
    std::map<int32_t, std::vector<uint32_t>> by_rank;
    for (const uint32_t i : entrants) by_rank[trace_.creations[i].rank].push_back(i);
    by_rank.erase(-1);
    for (auto& [rank, members] : by_rank) {
      EraseEarlierJobs(&members);
      if (members.size() < 2) continue;
      Incident incident;
      incident.deviating = Processes(members);
      incident.agreeing = Processes(entrants);
      incident.mismatch.deviating_value = "rank " + std::to_string(rank);
      AddWrong(entrants, std::move(incident));
      return true;
    }
    return false;
  }

  // Erases creations of earlier jobs. A program or a launcher may start its ranks several times,
  // one after another (torch.multiprocessing; torchrun, which ends the others by a signal). The
  // process groups of these jobs have the same names, but are different groups.
  void EraseEarlierJobs(std::vector<uint32_t>* creations) const {
    std::erase_if(*creations, [&](uint32_t i) {
      const Process& process = trace_.processes[trace_.creations[i].process];
      const int64_t end_ns = EndNs(process);
      return end_ns != kNoTime && std::ranges::any_of(*creations, [&](uint32_t other) {
               const Creation& later = trace_.creations[other];
               return later.event.start_ns - end_ns >
                      ClockErrorNs(process, trace_.processes[later.process]);
             });
    });
  }

  void AddWrong(const std::vector<uint32_t>& entrants, Incident incident) {
    const std::vector<uint32_t> inside = Inside(entrants);
    incident.what = What::kStart;
    incident.Set<StartDetails>().index = entrants.front();
    incident.mismatch.kind = MismatchKind::kCount;
    incident.hangs = !inside.empty() && analysis_.AllStill(inside);
    incidents_.push_back(std::move(incident));
  }

  // The expected ranks. They are known if the call specifies them, or if the call concerns the
  // whole job.
  static std::vector<int32_t> Expected(const Creation& creation, const World& world) {
    std::vector<int32_t> all;
    if (creation.expected.empty()) {
      if (creation.size <= 0 || static_cast<size_t>(creation.size) != world.processes.size()) {
        return {};
      }
      for (int32_t rank = 0; rank < creation.size; ++rank) all.push_back(rank);
      return all;
    }
    for (const int32_t rank : creation.expected) {
      if (rank >= 0 && static_cast<size_t>(rank) < world.processes.size()) all.push_back(rank);
    }
    return all;
  }

  void NotAllCame(const std::vector<uint32_t>& entrants) {
    const Creation& first = trace_.creations[entrants.front()];
    const World& world = trace_.worlds[trace_.processes[first.process].world];
    Incident incident;
    incident.what = What::kStart;
    incident.hangs = true;
    incident.Set<StartDetails>().index = entrants.front();
    incident.Set<StartDetails>().expected = first.size < 0 ? 0 : static_cast<uint64_t>(first.size);
    incident.agreeing = Inside(entrants);
    const std::vector<uint32_t> came = Processes(entrants);
    const std::vector<int32_t> expected = Expected(first, world);
    if (came.size() < expected.size()) {
      std::vector<uint32_t> missing;
      for (const int32_t rank : expected) {
        const uint32_t p = world.processes[static_cast<size_t>(rank)];
        if (p == kNoIndex) {
          incident.absent.push_back(rank);
        } else {
          missing.push_back(p);
        }
      }
      missing = Without(std::move(missing), came);
      std::vector<uint32_t> dead = Dead(missing);
      if (!dead.empty()) return AddDeath(std::move(dead), std::move(incident.agreeing));
      if (incident.absent.empty()) incident.deviating = std::move(missing);
    }
    if (something_hangs_ || !StandsStill(incident.agreeing)) return;
    // If parts of a job use different ids, a part with less than half of the ranks is not reported.
    // If two halves use different ids, only the first half is reported.
    if (Inside(entrants).size() * 2 < static_cast<size_t>(std::max(first.size, 0)) &&
        std::ranges::any_of(incident.deviating, [this](uint32_t p) { return IsCreating(p); })) {
      return;
    }
    const size_t half = incident.agreeing.size();
    incident.tie =
        !incident.deviating.empty() && half == incident.deviating.size() &&
        std::ranges::all_of(incident.deviating, [this](uint32_t p) { return IsCreating(p); });
    if (incident.tie && !tied_.insert(first.process).second) return;
    if (incident.tie) tied_.insert(incident.deviating.front());
    incidents_.push_back(std::move(incident));
  }

  bool IsCreating(uint32_t process) const { return creating_.contains(process); }

  const Analysis& analysis_;
  const Trace& trace_;
  std::vector<Incident>& incidents_;
  bool something_hangs_ = false;
  std::unordered_set<uint32_t> creating_;  // processes that are inside such a call
  std::set<uint32_t> started_wrong_;       // worlds whose ranks do not meet at a store
  std::set<uint32_t> tied_;
};

}  // namespace

void FindStartIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  StartFinder(analysis, incidents).Find();
}

}  // namespace rollcall
