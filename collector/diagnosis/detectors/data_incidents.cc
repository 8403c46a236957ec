// SPDX-License-Identifier: Apache-2.0
// Judges the data of collectives: numbers that were NaN, and copies that differ but must be equal.
#include <algorithm>
#include <tuple>
#include <utility>

#include "collector/diagnosis/detectors/data_calls.h"

namespace rollcall {
namespace {

// One read of one member.
struct Entry {
  uint64_t sequence = 0;
  uint32_t start = 0;
  uint32_t member = 0;  // position in CommunicatorHistory::members
  uint64_t order = 0;
  const DataRead* read = nullptr;
  const BlockHashes* blocks = nullptr;

  auto Key() const { return std::tuple(sequence, start, member, order); }
};

std::vector<Entry> EntriesOf(const Trace& trace, const CommunicatorHistory& histories) {
  std::vector<Entry> entries;
  for (uint32_t m = 0; m < histories.members.size(); ++m) {
    const uint32_t index = histories.members[m].member->data;
    if (index == kNoIndex) continue;
    for (const DataRead& read : trace.data[index].reads) {
      if (read.IsRead())
        entries.push_back({read.sequence, read.start, m, read.order, &read, nullptr});
    }
    for (const BlockHashes& blocks : trace.data[index].blocks) {
      entries.push_back({blocks.sequence, blocks.start, m, blocks.order, nullptr, &blocks});
    }
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) { return a.Key() < b.Key(); });
  return entries;
}

// Whether two call paths belong to one call. The path of a read has no context.
bool AreOfOneCall(const Trace& trace, uint32_t a, uint32_t b) {
  if (a == b) return true;
  if (a == kNoIndex || b == kNoIndex) return false;
  const CallPath& x = trace.call_paths[a];
  const CallPath& y = trace.call_paths[b];
  return x.context != y.context && x.codes == y.codes && x.end == y.end &&
         x.portable_hash == y.portable_hash;
}

// If one side has two reads, the later one counts: MPI rejected the call of the first read, and
// another call got its number.
void AddEntry(const Trace& trace, const Entry& entry, MemberCallData* to) {
  if (entry.read != nullptr) {
    // Starts of persistent calls have call paths of their own and are not checked.
    if (entry.start == 0 && !AreOfOneCall(trace, entry.read->call_path, to->event->call_path)) {
      return;
    }
    (entry.read->side == ring::DataSide::kInput ? to->input : to->result) = entry.read;
  } else {
    (entry.blocks->side == ring::DataSide::kInputBlocks ? to->input_blocks : to->result_blocks) =
        entry.blocks;
  }
}

// Whether the records show that the members made the same call.
bool IsSameCall(const Analysis& analysis, const DataCall& call) {
  if (call.event == nullptr) return false;
  const Arguments& one = analysis.Args(*call.event);
  return std::ranges::all_of(call.members, [&](const MemberCallData& member) {
    if (member.event == nullptr) return true;
    const Arguments& other = analysis.Args(*member.event);
    return other.operation == one.operation && other.reduce_op == one.reduce_op &&
           other.root_or_peer == one.root_or_peer;
  });
}

}  // namespace

bool IsMinOrMax(uint16_t reduce_op) {
  return reduce_op == static_cast<uint16_t>(ReduceOp::kMin) ||
         reduce_op == static_cast<uint16_t>(ReduceOp::kMax) ||
         reduce_op == static_cast<uint16_t>(ReduceOp::kMinloc) ||
         reduce_op == static_cast<uint16_t>(ReduceOp::kMaxloc);
}

bool DataCall::HasAllInputs() const {
  return histories->absent.empty() &&
         std::ranges::all_of(members,
                             [](const MemberCallData& member) { return member.input != nullptr; });
}

bool AreOfOneGroup(const Analysis& analysis, const CommunicatorHistory& histories) {
  constexpr uint32_t kOther = ring::kIsInter | ring::kIsNccl | ring::kIsWindow | ring::kIsFile;
  // A collective that was not recorded has no sequence number: later collectives of the member have
  // the numbers of other calls.
  return histories.ordered &&
         (analysis.trace.communicators[histories.communicator].flags & kOther) == 0 &&
         std::ranges::none_of(histories.members, [&](const MemberHistory& history) {
           return analysis.trace.processes[history.process].calls_unrecorded != 0;
         });
}

void VisitDataCalls(const Analysis& analysis, const CommunicatorHistory& histories,
                    const std::function<void(const DataCall&)>& visit) {
  if (!AreOfOneGroup(analysis, histories)) return;
  const std::vector<Entry> entries = EntriesOf(analysis.trace, histories);
  DataCall call;
  call.histories = &histories;
  for (size_t i = 0; i < entries.size();) {
    call.sequence = entries[i].sequence;
    call.start = entries[i].start;
    call.event = nullptr;
    call.members.assign(histories.members.size(), {});
    for (; i < entries.size() && entries[i].sequence == call.sequence &&
           entries[i].start == call.start;
         ++i) {
      MemberCallData& member = call.members[entries[i].member];
      member.event = histories.members[entries[i].member].At(call.sequence);
      if (member.event == nullptr) continue;
      call.event = member.event;
      AddEntry(analysis.trace, entries[i], &member);
    }
    if (IsSameCall(analysis, call)) visit(call);
  }
}

uint32_t DataCall::PathOf(size_t member) const {
  const MemberCallData& of = members[member];
  for (const DataRead* read : {of.input, of.result}) {
    if (read != nullptr && read->call_path != kNoIndex) return read->call_path;
  }
  return of.event == nullptr ? kNoIndex : of.event->call_path;
}

Incident DataIncident(const DataCall& call, Incident::What what,
                      const std::vector<size_t>& deviating, const std::vector<size_t>& agreeing) {
  Incident incident;
  incident.what = what;
  incident.communicator = call.histories->communicator;
  incident.sequence = call.sequence;
  incident.start = call.start;
  auto& details = incident.Set<DataDetails>();
  details.members = call.members.size();
  for (const size_t m : deviating) {
    incident.deviating.push_back(call.ProcessOf(m));
    details.deviating_paths.push_back(call.PathOf(m));
  }
  for (const size_t m : agreeing) {
    incident.agreeing.push_back(call.ProcessOf(m));
    details.agreeing_paths.push_back(call.PathOf(m));
  }
  incident.deviating_event = call.event;
  if (!agreeing.empty()) incident.agreeing_event = call.event;
  return incident;
}

std::vector<Incident> FindDataIncidents(const Analysis& analysis,
                                        const std::vector<Incident>& others) {
  std::vector<Incident> found;
  if (!analysis.trace.data.empty()) {
    FindNonFinite(analysis, &found);
    for (const CommunicatorHistory& histories : analysis.histories) {
      if (histories.members.size() < 2) continue;
      FindDifferingData(analysis, histories, &found);
      FindSameInputs(analysis, histories, &found);
    }
  }
  FindReplicaDrift(analysis, &found);
  std::erase_if(found, [&](const Incident& incident) {
    return Explained(others, incident.communicator, incident.sequence);
  });
  return found;
}

}  // namespace rollcall
