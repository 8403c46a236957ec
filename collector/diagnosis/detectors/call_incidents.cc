// SPDX-License-Identifier: Apache-2.0
// Finds calls with one sequence number that do not match, and histories that are shifted.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {
namespace {

class CallFinder {
 public:
  explicit CallFinder(const AlignedTrace& aligned) : aligned_(aligned) {}

  CallIncidents Find() {
    for (uint32_t c = 0; c < aligned_.histories.size(); ++c) {
      const CommunicatorHistory& histories = aligned_.histories[c];
      // Windows and files also number their calls, and are handled like communicators.
      if (histories.members.size() < 2) continue;
      bool operations_differ = false;
      uint64_t shift_from = ~uint64_t{0};
      VisitDifferences(aligned_.trace, histories,
                       [&](uint64_t sequence, const std::vector<uint32_t>& calls) {
                         if (operations_differ || sequence >= shift_from) {
                           return CompareEarlierCalls(histories, sequence, calls);
                         }
                         CompareCalls(histories, sequence, calls, &operations_differ, &shift_from);
                       });
      if (budget_.exceeded) {
        AddNote("too many pairs of counts: not all v-collectives were compared");
      }
    }
    return std::move(found_);
  }

 private:
  void AddNote(const std::string& note) {
    if (!Contains(found_.notes, note)) found_.notes.push_back(note);
  }

  void CompareCalls(const CommunicatorHistory& histories, uint64_t sequence,
                    const std::vector<uint32_t>& present, bool* operations_differ,
                    uint64_t* shift_from) {
    std::vector<MemberCall> calls;
    Mismatch mismatch = Match(histories, sequence, present, &calls);
    for (const std::string& note : pair_notes_) AddNote(note);
    pair_notes_.clear();
    if (!mismatch) return;
    *operations_differ = mismatch.kind == MismatchKind::kOperation;
    const std::optional<Shift>& shift = aligned_.ShiftOf(histories.communicator);
    if (shift && shift->sequence <= sequence && Explains(*shift, calls, mismatch)) {
      *shift_from = shift->sequence;
      return AddShift(histories, *shift, sequence, std::move(mismatch));
    }
    Incident incident;
    incident.what = Incident::What::kCalls;
    incident.communicator = histories.communicator;
    incident.sequence = sequence;
    const bool of_data =
        mismatch.kind == MismatchKind::kDatatype || mismatch.kind == MismatchKind::kCount;
    const auto processes = [&](const std::vector<uint32_t>& members) {
      std::vector<uint32_t> result;
      result.reserve(members.size());
      for (const uint32_t i : members) {
        result.push_back(histories.members[calls[i].member].process);
        if (of_data) continue;
        for (const uint32_t other : histories.WithoutRecord(calls[i].member, sequence)) {
          result.push_back(histories.members[other].process);
        }
      }
      return result;
    };
    // The data of members without a record is unknown, so there is no majority.
    const bool is_vote = of_data && !mismatch.pair && !mismatch.deviating.empty();
    if (is_vote && present.size() < CallerCount(histories, sequence)) {
      mismatch.others = std::exchange(mismatch.deviating, {});
    }
    incident.tie = mismatch.deviating.empty();
    incident.deviating = processes(incident.tie ? mismatch.others : mismatch.deviating);
    incident.agreeing = processes(mismatch.agreeing);
    if (incident.agreeing.empty()) {
      incident.Set<CallDetails>().everybody = true;
      incident.tie = true;
      incident.agreeing = incident.deviating;
    }
    if (mismatch.between) {
      for (uint32_t* end : {&mismatch.between->sender, &mismatch.between->receiver}) {
        *end = histories.members[calls[*end].member].process;
      }
    }
    incident.mismatch = std::move(mismatch);
    Finish(&incident);
    if (incident.mismatch.kind == MismatchKind::kOperation) MoveToFirstPair(histories, &incident);
    // Repetitions from the same two lines are one incident.
    const auto site = [&](const Event* event) {
      return event == nullptr ? 0 : aligned_.Site(*event);
    };
    const auto key = std::tuple(histories.communicator, incident.mismatch.kind,
                                site(incident.deviating_event), site(incident.agreeing_event));
    const auto [entry, added] = known_.emplace(key, found_.incidents.size());
    if (!added) {
      Incident& first = found_.incidents[entry->second];
      ++first.repeated;
      first.hangs |= incident.hangs;
      return;
    }
    found_.incidents.push_back(std::move(incident));
  }

  // The number of members that made the call, recorded or not.
  static size_t CallerCount(const CommunicatorHistory& histories, uint64_t sequence) {
    return static_cast<size_t>(std::ranges::count_if(
        histories.members, [&](const auto& member) { return member.entered >= sequence; }));
  }

  // Whether the shift explains the mismatch: a shifted member is among the differing members, or
  // all agreeing members are shifted.
  static bool Explains(const Shift& shift, const std::vector<MemberCall>& calls,
                       const Mismatch& mismatch) {
    const auto shifted = [&](uint32_t call) {
      return std::ranges::binary_search(shift.deviating, calls[call].member);
    };
    const auto any = [&](const std::vector<uint32_t>& side) {
      return std::ranges::any_of(side, shifted);
    };
    const auto all = [&](const std::vector<uint32_t>& side) {
      return std::ranges::all_of(side, shifted);
    };
    return any(mismatch.deviating) || any(mismatch.others) || all(mismatch.agreeing);
  }

  Mismatch Match(const CommunicatorHistory& histories, uint64_t sequence,
                 const std::vector<uint32_t>& present, std::vector<MemberCall>* calls) {
    calls->reserve(present.size());
    for (const uint32_t member : present) {
      const Event& event = *histories.members[member].At(sequence);
      calls->push_back({member, histories.members[member].member->rank, &aligned_.Args(event),
                        histories.members[member].member,
                        1 + histories.WithoutRecord(member, sequence).size()});
    }
    const Communicator& comm = aligned_.trace.communicators[histories.communicator];
    const bool inter = (comm.flags & ring::kIsInter) != 0;
    return MatchCalls(aligned_.trace, *calls, inter, &budget_, &pair_notes_);
  }

  // Once members are out of step, all later differences are consequences. They matter only if a
  // rank hangs in one of them.
  void CompareEarlierCalls(const CommunicatorHistory& histories, uint64_t sequence,
                           const std::vector<uint32_t>& present) {
    if (aligned_.NodeOf(histories.communicator, sequence) == nullptr) return;
    std::vector<MemberCall> calls;
    const Mismatch mismatch = Match(histories, sequence, present, &calls);
    pair_notes_.clear();
    const bool same_operation = mismatch.kind != MismatchKind::kOperation;
    if (!mismatch || !MarkNode(histories.communicator, sequence, same_operation)) return;
    for (Incident& incident : found_.incidents) {
      if (incident.communicator == histories.communicator) incident.hangs = true;
    }
  }

  // Adds the shift, which begins at `shift.sequence` and became visible at `sequence`.
  void AddShift(const CommunicatorHistory& histories, const Shift& shift, uint64_t sequence,
                Mismatch mismatch) {
    Incident incident = ShiftIncident(histories, shift);
    const bool same_operation = mismatch.kind != MismatchKind::kOperation;
    incident.mismatch = std::move(mismatch);
    Finish(&incident);
    incident.hangs |= MarkNode(histories.communicator, sequence, same_operation);
    found_.incidents.push_back(std::move(incident));
  }

  void Finish(Incident* incident) {
    SetCalls(incident);
    incident->hangs = MarkNode(incident->communicator, incident->sequence,
                               incident->mismatch.kind != MismatchKind::kOperation);
  }

  void SetCalls(Incident* incident) const {
    const auto call = [&](const std::vector<uint32_t>& side) -> const Event* {
      if (side.empty()) return nullptr;
      const MemberHistory* history = aligned_.HistoryOf(incident->communicator, side.front());
      return history == nullptr ? nullptr : history->At(incident->sequence);
    };
    incident->deviating_event = call(incident->deviating);
    incident->agreeing_event = call(incident->agreeing);
  }

  void MoveToFirstPair(const CommunicatorHistory& histories, Incident* incident) const {
    const uint64_t first =
        FindFirstWrongPair(aligned_, histories, incident->sequence, incident->deviating.front(),
                           incident->agreeing.front());
    if (first == incident->sequence) return;
    incident->Set<CallDetails>().showed_at = std::exchange(incident->sequence, first);
    SetCalls(incident);
  }

  // Marks the nodes of the number as mismatched. Returns whether all ranks inside are still, and so
  // wait forever. The same operation with different arguments often completes anyway, perhaps late
  // on a busy machine, so ranks that entered it recently do not count as still.
  bool MarkNode(uint32_t communicator, uint64_t sequence, bool same_operation) {
    const auto [first, end] =
        aligned_.graph.node_index.equal_range(WaitGraph::NodeKey(communicator, sequence));
    bool still = first != end;
    for (auto it = first; it != end; ++it) {
      const CollectiveNode& node = aligned_.graph.nodes[it->second];
      found_.mismatched.push_back(it->second);
      still &= std::ranges::all_of(node.inside, [&](uint32_t process) {
        return aligned_.Still(process) && (!same_operation || !aligned_.EnteredRecently(process));
      });
    }
    return still;
  }

  const AlignedTrace& aligned_;
  CallIncidents found_;
  std::vector<std::string> pair_notes_;
  MatchBudget budget_;
  std::map<std::tuple<uint32_t, MismatchKind, uint64_t, uint64_t>, size_t> known_;
};

}  // namespace

CallIncidents FindCallIncidents(const AlignedTrace& aligned) { return CallFinder(aligned).Find(); }

// Finds a divergence whose records are overwritten. It is between two checkpoints: the last equal
// one and the first one that differs.
void FindHashIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  for (uint32_t c = 0; c < analysis.histories.size(); ++c) {
    const CommunicatorHistory& histories = analysis.histories[c];
    // The two groups of an intercommunicator may pass different roots.
    if (!histories.ordered || (analysis.trace.communicators[c].flags & ring::kIsInter) != 0)
      continue;
    if (histories.members.size() < 2) continue;
    struct Compared {
      uint64_t semantic_hash;
      size_t members = 0;
      bool differ = false;
    };
    std::map<uint64_t, Compared> by_sequence;
    for (const MemberHistory& history : histories.members) {
      for (const Checkpoint& checkpoint : history.member->checkpoints) {
        Compared& compared = by_sequence
                                 .try_emplace(checkpoint.sequence,
                                              Compared{.semantic_hash = checkpoint.semantic_hash})
                                 .first->second;
        ++compared.members;
        compared.differ |= compared.semantic_hash != checkpoint.semantic_hash;
      }
    }
    uint64_t equal_until = 0;
    for (const auto& [sequence, compared] : by_sequence) {
      if (!compared.differ) {
        if (compared.members > 1) equal_until = sequence;
        continue;
      }
      if (Explained(*incidents, c, sequence)) break;
      std::map<uint64_t, std::vector<uint32_t>> hashes;
      for (const MemberHistory& history : histories.members) {
        for (const Checkpoint& checkpoint : history.member->checkpoints) {
          if (checkpoint.sequence != sequence) continue;
          hashes[checkpoint.semantic_hash].push_back(history.process);
        }
      }
      Incident incident;
      incident.what = Incident::What::kHashes;
      incident.communicator = c;
      incident.sequence = sequence;
      incident.Set<CallDetails>().matching_until = equal_until;
      auto largest = hashes.begin();
      for (auto it = hashes.begin(); it != hashes.end(); ++it) {
        if (it->second.size() > largest->second.size()) largest = it;
      }
      incident.agreeing = largest->second;
      for (const auto& [hash, members] : hashes) {
        if (hash == largest->first) continue;
        incident.tie |= members.size() == incident.agreeing.size();
        incident.deviating.insert(incident.deviating.end(), members.begin(), members.end());
      }
      incidents->push_back(std::move(incident));
      break;
    }
  }
}

bool Explained(const std::vector<Incident>& incidents, uint32_t communicator, uint64_t sequence) {
  return std::ranges::any_of(incidents, [&](const Incident& incident) {
    return incident.communicator == communicator && incident.sequence != 0 &&
           incident.sequence <= sequence &&
           (incident.what == Incident::What::kCalls || incident.what == Incident::What::kShift ||
            incident.what == Incident::What::kRejected);
  });
}

Incident ShiftIncident(const CommunicatorHistory& histories, const Shift& shift) {
  Incident incident;
  incident.what = Incident::What::kShift;
  incident.communicator = histories.communicator;
  incident.sequence = shift.sequence;
  incident.tie = shift.tie;
  incident.details =
      CallDetails{.shifted_by = shift.calls, .each_time = shift.each_time, .extra = shift.extra};
  for (const uint32_t member : shift.deviating) {
    incident.deviating.push_back(histories.members[member].process);
  }
  for (const uint32_t member : shift.agreeing) {
    incident.agreeing.push_back(histories.members[member].process);
  }
  return incident;
}

const Event* CallOrPlace(const Analysis& analysis, uint32_t communicator, uint64_t sequence,
                         uint32_t process, uint64_t start) {
  if (start != 0) {
    for (const WaitDependency& dependency : analysis.graph.processes[process].dependencies) {
      if (dependency.node == kNoIndex) continue;
      const CollectiveNode& node = analysis.graph.nodes[dependency.node];
      if (node.communicator == communicator && node.sequence == sequence && node.start == start) {
        return dependency.event;
      }
    }
    return analysis.CurrentEvent(process);
  }
  if (communicator != kNoIndex && sequence != 0) {
    const MemberHistory* history = analysis.HistoryOf(communicator, process);
    if (history != nullptr) {
      if (const Event* event = history->At(sequence)) return event;
      // The twin made the same calls, so its record shows the call.
      const MemberHistory& twin = analysis.histories[communicator].members[history->twin];
      if (const Event* event = sequence <= history->entered ? twin.At(sequence) : nullptr)
        return event;
    }
  }
  return analysis.CurrentEvent(process);
}

void AddThoseInside(const Analysis& analysis, Incident* incident) {
  const CollectiveNode* node = analysis.NodeOf(incident->communicator, incident->sequence);
  if (node == nullptr || node->inside.empty()) return;
  incident->agreeing = node->inside;
  incident->agreeing_event =
      CallOrPlace(analysis, incident->communicator, incident->sequence, node->inside.front());
  incident->hangs = true;
}

std::vector<uint32_t> WhoEntered(const Analysis& analysis, const CollectiveNode& node) {
  std::vector<uint32_t> all;
  for (const MemberHistory& history : analysis.histories[node.communicator].members)
    all.push_back(history.process);
  return Without(std::move(all), node.missing);
}

}  // namespace rollcall
