// SPDX-License-Identifier: Apache-2.0
#include "collector/import/trace_builder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/base/find.h"
#include "collector/import/communicator_name.h"
#include "collector/import/device_work.h"
#include "collector/import/split_devices.h"
#include "collector/model/python_merge.h"
#include "collector/model/rank_set.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

// Slots in the rank lists of all worlds together; a file may claim any size.
constexpr uint64_t kMaxWorldSlots = uint64_t{1} << 24;
// For communicators made from communicators: longer chains are named by their last parents.
constexpr int kMaxNameDepth = 6;

struct CommunicatorKey {
  uint64_t key;
  uint32_t world;
  uint32_t only_process;  // kNoIndex unless the communicator has a single member

  friend bool operator==(const CommunicatorKey&, const CommunicatorKey&) = default;
};

struct CommunicatorKeyHash {
  size_t operator()(const CommunicatorKey& key) const {
    return key.key ^ (uint64_t{key.world} << 32 | key.only_process) * 0x9e3779b97f4a7c15;
  }
};

class Joiner {
 public:
  Joiner(Trace* trace, const std::vector<MemberDraft>& drafts, const std::vector<JobIdentity>& jobs)
      : trace_(*trace), drafts_(drafts), jobs_(jobs) {}

  void Join() {
    MakeWorlds();
    MakeCommunicators();
    named_.resize(trace_.communicators.size(), false);
    for (uint32_t i = 0; i < trace_.communicators.size(); ++i) {
      if (!named_[i]) Name(i, 0);
    }
    for (const Process& process : trace_.processes) {
      trace_.taken_at_ns = std::max(trace_.taken_at_ns, process.taken_at_ns);
    }
  }

 private:
  void MakeWorlds() {
    std::vector<uint32_t> order(jobs_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(
        order, [&](uint32_t a, uint32_t b) { return jobs_[a].start_ns < jobs_[b].start_ns; });
    std::map<std::pair<uint64_t, int32_t>, uint32_t> newest;  // by job key and size
    std::unordered_map<uint64_t, uint32_t> newest_of_job;
    for (const uint32_t index : order) {
      if (jobs_[index].world_size < 0) continue;
      const auto key = std::make_pair(jobs_[index].job_key, jobs_[index].world_size);
      auto world = newest.find(key);
      if (world == newest.end() || IsTaken(world->second, trace_.processes[index].rank)) {
        world = newest.insert_or_assign(key, AddWorld(key.first, key.second)).first;
      }
      newest_of_job[key.first] = world->second;
      Enter(index, world->second);
    }
    // Processes that died before they knew the size of their world.
    for (const uint32_t index : order) {
      if (jobs_[index].world_size >= 0) continue;
      auto world = newest_of_job.find(jobs_[index].job_key);
      if (world == newest_of_job.end() || IsTaken(world->second, trace_.processes[index].rank)) {
        world =
            newest_of_job.insert_or_assign(jobs_[index].job_key, AddWorld(jobs_[index].job_key, -1))
                .first;
      }
      Enter(index, world->second);
    }
    for (Process& process : trace_.processes) {
      if (process.host_process != kNoIndex) {
        process.world = trace_.processes[process.host_process].world;
      }
    }
    const std::vector<bool> split = SplitWorlds(trace_);
    for (uint32_t w = 0; w < trace_.worlds.size(); ++w) {
      const bool numbered = split[w] && NumberByCommunicator(drafts_, w, &trace_);
      ListMissing(trace_.worlds[w]);
      if (split[w] && !numbered) NumberInOrder(w, &trace_);
    }
  }

  uint32_t AddWorld(uint64_t job_key, int32_t size) {
    World world;
    world.job_key = job_key;
    if (size >= 0 && static_cast<uint32_t>(size) <= kMaxRanks &&
        slots_ + static_cast<uint64_t>(size) <= kMaxWorldSlots) {
      world.size = size;
      slots_ += static_cast<uint64_t>(size);
      world.processes.assign(static_cast<size_t>(size), kNoIndex);
    } else if (size >= 0) {
      trace_.problems.push_back(
          {ProblemCode::kOverLimit, fmt::format("a world of {} ranks: implausible", size)});
    }
    trace_.worlds.push_back(std::move(world));
    return static_cast<uint32_t>(trace_.worlds.size() - 1);
  }

  bool IsTaken(uint32_t world, int32_t rank) const {
    return ProcessOf(trace_, world, rank) != kNoIndex;
  }

  void Enter(uint32_t index, uint32_t world_index) {
    Process& process = trace_.processes[index];
    World& world = trace_.worlds[world_index];
    process.world = world_index;
    if (process.rank < 0) return;
    const auto rank = static_cast<size_t>(process.rank);
    // A world of unknown size has the ranks that were found.
    if (world.size < 0 && rank >= world.processes.size()) {
      const uint64_t more = rank + 1 - world.processes.size();
      if (slots_ + more <= kMaxWorldSlots) {
        slots_ += more;
        world.processes.resize(rank + 1, kNoIndex);
      }
    }
    if (rank < world.processes.size()) {
      world.processes[rank] = index;
    } else {
      trace_.problems.push_back(
          {ProblemCode::kOverLimit,
           fmt::format("rank {} of {}: implausible", process.rank, world.size), process.source});
      process.rank = -1;
    }
  }

  void ListMissing(const World& world) {
    if (world.size < 0) return;
    std::vector<int32_t> missing;
    for (int32_t rank = 0; rank < world.size; ++rank) {
      if (world.processes[static_cast<size_t>(rank)] == kNoIndex) missing.push_back(rank);
    }
    if (missing.empty()) return;
    trace_.problems.push_back(
        {ProblemCode::kMissing,
         fmt::format("no trace of rank{} {}, of {} ranks", missing.size() == 1 ? "" : "s",
                     FoldRanks(missing), world.size)});
  }

  void MakeCommunicators() {
    // By rising rank, so that the result does not depend on the order of files.
    std::vector<std::pair<uint64_t, uint32_t>> order;
    order.reserve(trace_.members.size());
    for (uint32_t i = 0; i < trace_.members.size(); ++i) {
      order.emplace_back(Place(trace_.members[i].process), i);
    }
    std::ranges::sort(order);
    std::vector<uint32_t> first_member;  // by communicator: its first member
    for (const auto& [place, index] : order) {
      Member& member = trace_.members[index];
      const MemberDraft& draft = drafts_[index];
      const auto [entry, is_new] =
          index_.try_emplace(KeyOf(member, draft.key, IsAlone(draft)),
                             static_cast<uint32_t>(trace_.communicators.size()));
      if (is_new) {
        trace_.communicators.push_back(Make(member, draft));
        first_member.push_back(index);
      }
      Communicator& communicator = trace_.communicators[entry->second];
      communicator.flags |= draft.flags;
      if (communicator.name.empty()) communicator.name = draft.name;
      communicator.members.push_back(index);
      member.communicator = entry->second;
    }
    for (uint32_t i = 0; i < trace_.communicators.size(); ++i) {
      const Member& member = trace_.members[first_member[i]];
      const MemberDraft& draft = drafts_[first_member[i]];
      for (const bool alone : {true, false}) {
        const auto parent = index_.find(KeyOf(member, draft.parent_key, alone));
        if (draft.parent_key != 0 && parent != index_.end() && parent->second != i) {
          trace_.communicators[i].parent = parent->second;
        }
      }
      if ((trace_.communicators[i].flags & (ring::kIsNccl | ring::kIsC10d)) != 0) {
        ListPresentMembers(draft, &trace_.communicators[i]);
      }
    }
    ListExpected();
  }

  // No call of NCCL or PyTorch shows which process has which rank: each member that is present
  // records its own rank only. The other ranks are known only if the communicator is the whole job,
  // in the same order.
  void ListPresentMembers(const MemberDraft& draft, Communicator* communicator) const {
    const int32_t size = draft.size;
    if (communicator->created_by == Operation::kNcclCommShrink) {
      communicator->ranks = Kept(*communicator, draft.ranks);
      if (!communicator->ranks.empty()) return;
    }
    if (size <= 0 || static_cast<uint32_t>(size) > kMaxRanks) return;
    communicator->ranks.assign(static_cast<size_t>(size), -1);
    bool in_order = trace_.worlds[communicator->world].size == size;
    for (const uint32_t m : communicator->members) {
      const Member& member = trace_.members[m];
      if (member.rank < 0 || member.rank >= size) continue;
      const int32_t rank = trace_.processes[member.process].rank;
      communicator->ranks[static_cast<size_t>(member.rank)] = rank;
      in_order &= rank == member.rank;
    }
    for (int32_t rank = 0; in_order && rank < size; ++rank) {
      communicator->ranks[static_cast<size_t>(rank)] = rank;
    }
  }

  // The ranks that a shrunk communicator keeps of its parent, which comes before it in the list.
  // Empty if one of the ranks is unknown.
  std::vector<int32_t> Kept(const Communicator& shrunk,
                            const std::vector<ring::RankRun>& parent_ranks) const {
    if (shrunk.parent == kNoIndex) return {};
    const std::vector<int32_t>& parent = trace_.communicators[shrunk.parent].ranks;
    std::vector<int32_t> kept;
    for (const int32_t rank : ExpandRanks(parent_ranks)) {
      if (static_cast<size_t>(rank) >= parent.size()) return {};
      kept.push_back(parent[static_cast<size_t>(rank)]);
      if (kept.back() < 0) return {};
    }
    return kept;
  }

  void ListExpected() {
    std::unordered_map<uint64_t, uint32_t> shrunk;
    for (uint32_t c = 0; c < trace_.communicators.size(); ++c) {
      if (trace_.communicators[c].created_by == Operation::kNcclCommShrink) {
        shrunk.emplace(trace_.communicators[c].key, c);
      }
    }
    for (Creation& creation : trace_.creations) {
      const uint32_t* found = FindOrNull(shrunk, creation.key);
      if (found != nullptr) creation.expected = trace_.communicators[*found].ranks;
    }
  }

  static bool IsAlone(const MemberDraft& draft) {
    return (draft.flags & ring::kIsSelf) != 0 || (draft.size == 1 && draft.remote_size == 0);
  }

  CommunicatorKey KeyOf(const Member& member, uint64_t key, bool alone) const {
    return {key, trace_.processes[member.process].world, alone ? member.process : kNoIndex};
  }

  Communicator Make(const Member& member, const MemberDraft& draft) const {
    Communicator communicator;
    communicator.key = draft.key;
    communicator.parent_sequence = draft.parent_sequence;
    communicator.created_by = static_cast<Operation>(draft.creating_operation);
    communicator.world = trace_.processes[member.process].world;
    communicator.ranks = ExpandRanks(draft.ranks);
    communicator.remote_ranks = ExpandRanks(draft.remote_ranks);
    // Each side of an intercommunicator calls the other side remote. The side with the lowest rank
    // counts as local, whichever member is read first.
    const auto lowest = [](const std::vector<int32_t>& ranks) {
      return ranks.empty() ? INT32_MAX : *std::ranges::min_element(ranks);
    };
    if (lowest(communicator.remote_ranks) < lowest(communicator.ranks)) {
      std::swap(communicator.ranks, communicator.remote_ranks);
    }
    return communicator;
  }

  void Name(uint32_t index, int depth) {
    named_[index] = true;
    Communicator& communicator = trace_.communicators[index];
    const std::string given = communicator.name;
    communicator.name = NameOfCommunicator(communicator.flags, communicator.created_by, given);
    if (communicator.name.empty()) {
      communicator.name = Describe(communicator, depth);
    } else if (communicator.name == NameOfGroup(given)) {
      communicator.name += RanksOfGroup(communicator);
    }
  }

  // " (ranks 4-7)"; empty if a rank is unknown
  static std::string RanksOfGroup(const Communicator& communicator) {
    std::vector<int32_t> ranks = communicator.ranks;
    if (ranks.empty() || std::ranges::find(ranks, -1) != ranks.end()) return "";
    Normalize(&ranks);
    return " (" + RanksPhrase(ranks) + ")";
  }

  // "MPI_Comm_split #4 of MPI_COMM_WORLD, color 2"
  std::string Describe(const Communicator& communicator, int depth) {
    const OperationInfo creation = FindOperation(static_cast<uint16_t>(communicator.created_by));
    const bool unknown_nccl = creation.name.empty() && (communicator.flags & ring::kIsNccl) != 0;
    if (creation.operation == Operation::kC10dInitGroup) {
      return fmt::format("process group {}", ++groups_named_[communicator.world]);
    }
    if (creation.kind == Kind::kNcclInit || creation.kind == Kind::kNcclInitAll || unknown_nccl) {
      return fmt::format("NCCL communicator {}", ++nccl_named_[communicator.world]);
    }
    if (creation.name.empty()) return fmt::format("communicator {:#x}", communicator.key);
    std::string text(creation.name);
    if (communicator.parent_sequence != 0)
      text += fmt::format(" #{}", communicator.parent_sequence);
    if (communicator.parent != kNoIndex) {
      if (!named_[communicator.parent] && depth < kMaxNameDepth) {
        Name(communicator.parent, depth + 1);
      }
      const std::string& parent = trace_.communicators[communicator.parent].name;
      text += " of ";
      text += parent.empty() || parent.size() > 256 ? "another communicator" : parent;
    }
    if (communicator.created_by == Operation::kComm_split ||
        communicator.created_by == Operation::kNcclCommSplit) {
      if (const Event* event = FindCreation(communicator)) {
        text += fmt::format(", color {}", static_cast<int32_t>(event->detail >> 32));
      }
    }
    return text;
  }

  // The sort key of a process: world and rank.
  uint64_t Place(uint32_t process) const {
    const Process& of = trace_.processes[process];
    return uint64_t{of.world} << 32 | static_cast<uint32_t>(of.rank);
  }

  // Null if the process is not a member.
  const Member* MemberOf(uint32_t communicator, uint32_t process) const {
    const std::vector<uint32_t>& members = trace_.communicators[communicator].members;
    const uint64_t place = Place(process);
    const auto place_of = [this](uint32_t member) { return Place(trace_.members[member].process); };
    auto found = std::partition_point(members.begin(), members.end(),
                                      [&](uint32_t member) { return place_of(member) < place; });
    for (; found != members.end() && place_of(*found) == place; ++found) {
      if (trace_.members[*found].process == process) return &trace_.members[*found];
    }
    return nullptr;
  }

  // The call that made `communicator`, in the trace of one of its members; null if it is lost.
  const Event* FindCreation(const Communicator& communicator) const {
    constexpr size_t kMembersAsked = 4;  // one that has the record is enough
    for (size_t i = 0; i < std::min(kMembersAsked, communicator.members.size()); ++i) {
      const uint32_t process = trace_.members[communicator.members[i]].process;
      if (communicator.parent == kNoIndex) return nullptr;
      const Member* parent = MemberOf(communicator.parent, process);
      if (parent == nullptr) continue;
      const std::vector<Event>& events = parent->events;
      const auto event =
          std::ranges::lower_bound(events, communicator.parent_sequence, {}, &Event::sequence);
      if (event != events.end() && event->sequence == communicator.parent_sequence) return &*event;
    }
    return nullptr;
  }

  Trace& trace_;
  const std::vector<MemberDraft>& drafts_;
  const std::vector<JobIdentity>& jobs_;
  uint64_t slots_ = 0;
  std::unordered_map<CommunicatorKey, uint32_t, CommunicatorKeyHash> index_;
  std::vector<bool> named_;
  std::unordered_map<uint32_t, int> nccl_named_;    // by world: NCCL's communicators have no names
  std::unordered_map<uint32_t, int> groups_named_;  // by world: unnamed process groups
};

}  // namespace

void RingTraceBuilder::Reserve(size_t processes) {
  trace_.processes.reserve(processes);
  activity_.reserve(processes);
  jobs_.reserve(processes);
  by_ring_id_.reserve(processes);
}

// Reserves members for the processes to come: as many for each as the present processes have,
// within bounds.
void RingTraceBuilder::ReserveMembers(size_t more) {
  const size_t size = trace_.members.size();
  if (size + more <= trace_.members.capacity()) return;
  const size_t processes = std::max<size_t>(1, trace_.processes.size());
  const size_t expected = size / processes * trace_.processes.capacity();
  const size_t wanted = std::max(size + more, std::clamp(expected, 2 * size, 8 * size));
  trace_.members.reserve(wanted);
  importer_.drafts().reserve(wanted);
}

std::optional<uint32_t> RingTraceBuilder::Add(const RingSnapshot& snapshot) {
  if (!snapshot.usable) {
    trace_.problems.insert(trace_.problems.end(), snapshot.problems.begin(),
                           snapshot.problems.end());
    return std::nullopt;
  }
  const uint64_t id = RingId(snapshot.header);
  if (const auto known = FindProcess(id); known && id != 0) {
    trace_.problems.push_back(
        {ProblemCode::kDuplicate,
         fmt::format("the same process as {}: ignored", trace_.processes[*known].source),
         snapshot.source});
    return std::nullopt;
  }
  ReserveMembers(snapshot.members.size());
  const uint32_t index = importer_.Import(snapshot);
  activity_.push_back(snapshot.activity);
  jobs_.push_back({snapshot.header.job_key, snapshot.header.world_size,
                   snapshot.header.first_anchor.realtime_ns});
  by_ring_id_[id] = index;
  return index;
}

std::optional<uint32_t> RingTraceBuilder::FindProcess(uint64_t ring_id) const {
  const uint32_t* index = FindOrNull(by_ring_id_, ring_id);
  return index == nullptr ? std::nullopt : std::optional(*index);
}

Trace RingTraceBuilder::Finish() {
  LinkGrown();
  SplitByDevice(importer_.drafts(), &trace_, &importer_.device_calls(), &importer_.host_waits());
  Joiner(&trace_, importer_.drafts(), jobs_).Join();
  SimulateStreams(std::move(importer_.device_calls()), importer_.host_waits(), &trace_);
  MergePythonFrames(&trace_);
  ResolveRejections(&trace_);
  ForgetHandledExceptions();
  return std::move(trace_);
}

// Ranks that join a growing communicator know only its unique id. The rank that made the id also
// knows the identity that the other members use for the communicator (shim/nccl/call.cc).
void RingTraceBuilder::LinkGrown() {
  std::unordered_map<uint64_t, uint64_t> keys;
  std::vector<MemberDraft>& drafts = importer_.drafts();
  const auto grown = static_cast<uint16_t>(Operation::kNcclCommGrow);
  for (MemberDraft& draft : drafts) {
    if (draft.creating_operation != grown || draft.parent_sequence == 0) continue;
    keys.emplace(draft.parent_sequence, draft.key);
    draft.parent_sequence = 0;
  }
  if (keys.empty()) return;
  const auto replace = [&keys](uint64_t* key) { *key = FindOr(keys, *key, *key); };
  for (MemberDraft& draft : drafts) {
    replace(&draft.key);
    replace(&draft.parent_key);
  }
  for (Creation& creation : trace_.creations) replace(&creation.key);
}

// A Python program that finalizes and exits with 0 has handled the exception in sys.last_value.
void RingTraceBuilder::ForgetHandledExceptions() {
  for (Process& process : trace_.processes) {
    const bool well = process.phase == ring::Phase::kFinalized &&
                      process.end.how == ProcessEnd::How::kExited && process.end.status == 0;
    if (well && process.exception && process.exception->kind == ring::ExceptionKind::kPython) {
      process.exception.reset();
    }
  }
}

}  // namespace rollcall
