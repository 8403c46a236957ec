// Which ranks have entered an initialization, and which have not: MPI_Init, and calls that make a
// communicator from an id (ncclCommInitRank) or over a group (MPI_Comm_create_group). Creations
// that are collective on a parent are handled with the other collectives.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {
namespace {

using What = Incident::What;

// A launch on many nodes takes minutes without any record: this many times longer than the time
// after which a rank is called stalled.
constexpr int64_t kStartTakes = 4;

class StartFinder {
 public:
  StartFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), trace_(analysis.trace), incidents_(*incidents) {}

  void Find() {
    // What stops ranks elsewhere also keeps them from arriving here.
    something_hangs_ = std::any_of(incidents_.begin(), incidents_.end(),
                                   [](const Incident& incident) { return incident.hangs; });
    for (const Creation& creation : trace_.creations) {
      if (creation.event.end_ns == kNoTime) creating_.insert(creation.process);
    }
    for (uint32_t w = 0; w < trace_.worlds.size(); ++w) CheckWorld(w);
    LookAtGroups();
    LookAtCreations();
  }

 private:
  // Inside for long, without movement.
  bool StandsStill(const std::vector<uint32_t>& inside, int64_t times = 1) const {
    return std::all_of(inside.begin(), inside.end(),
                       [&](uint32_t p) { return analysis_.StoodStill(p, times); });
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

  // The record of an open call does not say which other ranks belong to the group.
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
      const bool open = std::any_of(entrants.begin(), entrants.end(), [this](uint32_t i) {
        return trace_.creations[i].event.end_ns == kNoTime;
      });
      if (!DifferInSize(entrants) && !SameRankTwice(entrants) && open) NotAllCame(entrants);
    }
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
    for (const auto& [rank, members] : by_rank) {
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

  void AddWrong(const std::vector<uint32_t>& entrants, Incident incident) {
    const std::vector<uint32_t> inside = Inside(entrants);
    incident.what = What::kStart;
    incident.Set<StartDetails>().index = entrants.front();
    incident.mismatch.kind = MismatchKind::kCount;
    incident.hangs = !inside.empty() && analysis_.AllStill(inside);
    incidents_.push_back(std::move(incident));
  }

  // The expected ranks: known if the call specifies them, or if it concerns the whole job.
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
    // If parts of a job use one id each, a part with less than half of the ranks is not reported;
    // of two halves, only the first is.
    if (Inside(entrants).size() * 2 < static_cast<size_t>(std::max(first.size, 0)) &&
        std::any_of(incident.deviating.begin(), incident.deviating.end(),
                    [this](uint32_t p) { return IsCreating(p); })) {
      return;
    }
    const size_t half = incident.agreeing.size();
    incident.tie = !incident.deviating.empty() && half == incident.deviating.size() &&
                   std::all_of(incident.deviating.begin(), incident.deviating.end(),
                               [this](uint32_t p) { return IsCreating(p); });
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
  std::set<uint32_t> tied_;
};

}  // namespace

void FindStartIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  StartFinder(analysis, incidents).Find();
}

}  // namespace rollcall
