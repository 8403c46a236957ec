// SPDX-License-Identifier: Apache-2.0
#include "collector/import/split_devices.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "collector/base/find.h"
#include "proto/device_streams.h"

namespace rollcall {
namespace {

// More devices than any host has come from damage.
constexpr size_t kMaxDevices = 256;
constexpr int32_t kMaxSplitRanks = 1 << 20;

class Splitter {
 public:
  Splitter(uint32_t process, std::vector<uint32_t> members, const std::vector<MemberDraft>& drafts,
           Trace* trace, std::span<DeviceCall> calls, std::span<HostWait> waits)
      : process_(process),
        members_(std::move(members)),
        drafts_(drafts),
        trace_(*trace),
        calls_(calls),
        waits_(waits) {}

  void Split() {
    AssignSlots();
    if (slots_.size() < 2 || slots_.size() > kMaxDevices) return;
    MakeProcesses();
    MoveMembers();
    MoveDeviceWork();
    ShareOpenCalls();
    KeepGroupsOfHeldCalls();
  }

 private:
  struct Slot {
    int32_t device = -1;
    std::set<uint64_t> keys;  // of the communicators that have a member on it
    uint32_t process = kNoIndex;
    int64_t last_ns = kNoTime;   // the start of its last operation
    uint32_t driver = kNoIndex;  // the thread that made that operation
  };

  // Assigns slots in the order of creation. Two ranks of one communicator never get the same slot,
  // even if NCCL reports that they share a device.
  void AssignSlots() {
    for (const uint32_t m : members_) {
      if (drafts_[m].device >= 0) slot_of_[m] = SlotFor(drafts_[m].key, drafts_[m].device);
    }
    std::map<uint64_t, size_t> members;
    for (const uint32_t m : members_) ++members[drafts_[m].key];
    for (const uint32_t m : members_) {
      if (drafts_[m].device >= 0) continue;
      const bool alone = members[drafts_[m].key] == 1 && !slots_.empty();
      if (alone) slots_.front().keys.insert(drafts_[m].key);
      slot_of_[m] = alone ? 0 : SlotFor(drafts_[m].key, -1);
    }
  }

  size_t SlotFor(uint64_t key, int32_t device) {
    size_t at = 0;
    while (at < slots_.size() &&
           ((device >= 0 && slots_[at].device != device) || slots_[at].keys.contains(key))) {
      ++at;
    }
    if (at == slots_.size()) slots_.push_back({.device = device, .keys = {}});
    slots_[at].keys.insert(key);
    return at;
  }

  void MakeProcesses() {
    slots_.front().process = process_;
    for (size_t s = 1; s < slots_.size(); ++s) {
      slots_[s].process = static_cast<uint32_t>(trace_.processes.size());
      Process copy = trace_.processes[process_];
      for (auto* list : {&copy.p2p, &copy.lifecycle, &copy.leftovers}) list->clear();
      copy.open_calls.clear();
      copy.open_requests.clear();
      copy.channels.clear();
      copy.peer_counts.clear();
      copy.gpu.clear();
      copy.replicas.clear();
      copy.values.clear();
      trace_.processes.push_back(std::move(copy));
    }
    for (const Slot& slot : slots_) {
      Process& process = trace_.processes[slot.process];
      process.host_process = process_;
      process.device_number = slot.device;
    }
  }

  // The process of the device to which an event belongs; kNoIndex if it belongs to no single one.
  uint32_t OwnerOf(const Event& event) const {
    const size_t* slot = FindOrNull(slot_of_, event.member);
    return slot == nullptr ? kNoIndex : slots_[*slot].process;
  }

  void MoveMembers() {
    std::map<std::pair<uint64_t, int32_t>, uint32_t> by_rank;
    for (const uint32_t m : members_) {
      Member& member = trace_.members[m];
      member.process = slots_[slot_of_[m]].process;
      by_rank[{drafts_[m].key, member.rank}] = member.process;
    }
    for (Creation& creation : trace_.creations) {
      const auto found = by_rank.find({creation.key, creation.rank});
      if (creation.process == process_ && found != by_rank.end()) creation.process = found->second;
    }
    std::vector<ring::GpuProgress> gpu = std::move(trace_.processes[process_].gpu);
    trace_.processes[process_].gpu.clear();
    for (const ring::GpuProgress& progress : gpu) {
      for (const uint32_t m : members_) {
        const Member& member = trace_.members[m];
        if (member.uid != progress.member) continue;
        trace_.processes[member.process].gpu.push_back(progress);
        break;
      }
    }
    for (auto list : {&Process::p2p, &Process::lifecycle}) {
      const std::vector<Event> all = std::move(trace_.processes[process_].*list);
      (trace_.processes[process_].*list).clear();
      for (const Event& event : all) {
        const uint32_t owner = OwnerOf(event);
        (trace_.processes[owner == kNoIndex ? process_ : owner].*list).push_back(event);
      }
    }
  }

  void MoveDeviceWork() {
    std::map<uint64_t, std::set<uint32_t>> streams;
    for (DeviceCall& call : calls_) {
      const size_t* index = FindOrNull(slot_of_, call.event.member);
      if (index == nullptr) continue;
      Slot& slot = slots_[*index];
      call.process = slot.process;
      if (!ring::IsDefaultStream(call.stream)) streams[call.stream].insert(slot.process);
      if (call.event.start_ns < slot.last_ns) continue;
      slot.last_ns = call.event.start_ns;
      slot.driver = call.event.thread;
    }
    for (HostWait& wait : waits_) {
      const auto owners = streams.find(wait.stream);
      const bool named = !wait.any_stream && owners != streams.end() && owners->second.size() == 1;
      const std::vector<uint32_t> driven = DrivenBy(wait.thread);
      if (named) {
        wait.process = *owners->second.begin();
      } else {
        // The wait is for the current device, which no record names.
        wait.process = driven.size() == 1 ? driven.front() : kNoIndex;
      }
      owner_of_wait_[wait.thread] = wait.process;
    }
  }

  std::vector<uint32_t> DrivenBy(uint32_t thread) const {
    std::vector<uint32_t> driven;
    for (const Slot& slot : slots_) {
      if (slot.driver == thread) driven.push_back(slot.process);
    }
    return driven;
  }

  bool IsHostWait(const Event& event) const {
    const Operation operation = trace_.arguments[event.arguments].operation;
    return FindOperation(static_cast<uint16_t>(operation)).kind == Kind::kHostWait;
  }

  uint32_t OwnerOfCall(const Event& event) const {
    if (!IsHostWait(event)) return OwnerOf(event);
    return FindOr(owner_of_wait_, event.thread, kNoIndex);
  }

  // Gives each open call to the device that it is for. That device holds up the other devices of
  // the same thread. A call for an unknown device goes to all devices of its thread. If the call is
  // a host wait, these devices hold up each other.
  void ShareOpenCalls() {
    std::vector<OpenCall> all = std::move(trace_.processes[process_].open_calls);
    trace_.processes[process_].open_calls.clear();
    for (const OpenCall& call : all) {
      const uint32_t owner = OwnerOfCall(call.event);
      std::vector<uint32_t> driven = DrivenBy(call.event.thread);
      if (owner != kNoIndex) {
        trace_.processes[owner].open_calls.push_back(call);
        for (const uint32_t p : driven) {
          if (p != owner) trace_.processes[p].held_up_by.push_back(owner);
        }
        continue;
      }
      if (driven.empty()) driven.push_back(process_);
      for (const uint32_t p : driven) {
        trace_.processes[p].open_calls.push_back(call);
        if (!IsHostWait(call.event)) continue;
        for (const uint32_t other : driven) {
          if (other != p) trace_.processes[p].held_up_by.push_back(other);
        }
      }
    }
  }

  // Keeps an open group only for the devices that have operations in it.
  void KeepGroupsOfHeldCalls() {
    std::set<std::pair<uint32_t, uint32_t>> holding;  // process, thread
    for (const DeviceCall& call : calls_) {
      if (call.held) holding.emplace(call.process, call.event.thread);
    }
    const size_t threads = trace_.processes[process_].threads.size();
    for (uint32_t t = 0; t < threads; ++t) {
      const auto holds = [&](const Slot& slot) { return holding.contains({slot.process, t}); };
      if (std::ranges::none_of(slots_, holds)) continue;
      for (const Slot& slot : slots_) {
        if (!holds(slot)) trace_.processes[slot.process].threads[t].group = {};
      }
    }
  }

  const uint32_t process_;
  const std::vector<uint32_t> members_;  // NCCL's, by rising uid
  const std::vector<MemberDraft>& drafts_;
  Trace& trace_;
  const std::span<DeviceCall> calls_;
  const std::span<HostWait> waits_;
  std::vector<Slot> slots_;
  std::map<uint32_t, size_t> slot_of_;          // by member
  std::map<uint32_t, uint32_t> owner_of_wait_;  // process by thread; kNoIndex: unknown
};

// Elements of one process are contiguous, in the order of import.
template <typename T>
class Ranges {
 public:
  explicit Ranges(std::vector<T>* all) : all_(*all) {
    for (size_t i = 0; i < all_.size(); ++i) {
      const auto [entry, added] = of_.try_emplace(all_[i].process, i, i);
      entry->second.second = i + 1;
    }
  }
  std::span<T> operator[](uint32_t process) const {
    const auto found = of_.find(process);
    if (found == of_.end()) return {};
    return std::span<T>(all_).subspan(found->second.first,
                                      found->second.second - found->second.first);
  }

 private:
  std::vector<T>& all_;
  std::map<uint32_t, std::pair<size_t, size_t>> of_;
};

// Whether the process is several ranks of one communicator.
bool IsSeveral(const Trace& trace, const std::vector<uint32_t>& members,
               const std::vector<MemberDraft>& drafts) {
  std::map<uint64_t, int32_t> ranks;
  return std::ranges::any_of(members, [&](uint32_t m) {
    const auto [entry, added] = ranks.emplace(drafts[m].key, trace.members[m].rank);
    return !added && entry->second != trace.members[m].rank;
  });
}

// NCCL communicators for which missing calls of members cannot be determined: the calls on them are
// removed, and hosts may wait for those.
class Unjudged {
 public:
  Unjudged(const std::vector<MemberDraft>& drafts, Trace* trace)
      : drafts_(drafts), trace_(*trace) {}

  // Adds communicators with several members in one MPI process. Such a process cannot be several
  // ranks, since MPI defines its rank.
  void AddOfMpi(const std::vector<uint32_t>& members) {
    std::map<uint64_t, std::set<int32_t>> ranks;
    for (const uint32_t m : members) {
      ranks[drafts_[m].key].insert(trace_.members[m].rank);
    }
    for (const auto& [key, held] : ranks) {
      if (held.size() < 2) continue;
      Add(key,
          "an MPI process drives several devices of one NCCL communicator: calls on that "
          "communicator are not diagnosed");
    }
  }

  // Adds communicators whose calls the recorder could not all count (shim/nccl: kWeakIdentity).
  void AddUncounted() {
    for (uint32_t m = 0; m < drafts_.size(); ++m) {
      if (!IsNcclAlone(drafts_[m].flags) || trace_.members[m].rank < 0) continue;
      if ((drafts_[m].flags & ring::kWeakIdentity) == 0) continue;
      Add(drafts_[m].key,
          "not all calls on an NCCL communicator are counted (docs/nccl.md): calls on it are not "
          "diagnosed");
    }
  }

  // Notes whether there are process groups that may each be several groups. Their calls are removed
  // in any case (IsUncertainGroup()).
  void NoteUncertain() {
    uncertain_ = std::ranges::any_of(drafts_, IsUncertainGroup);
    if (!uncertain_) return;
    Problem& problem = trace_.problems.emplace_back();
    problem.code = ProblemCode::kMissingCalls;
    problem.message =
        "process groups on devices cannot be distinguished in this PyTorch: NCCL's calls are "
        "diagnosed "
        "instead of theirs";
  }

  // Adds the communicators that carry process groups: users call the groups, not these
  // communicators.
  void AddCarriers() {
    for (const MemberDraft& draft : drafts_) {
      if (draft.carries) carriers_.insert(draft.key);
    }
    keys_.insert(carriers_.begin(), carriers_.end());
  }

  void RemoveCalls(std::vector<DeviceCall>* calls) {
    if (keys_.empty() && !uncertain_) return;
    for (uint32_t m = 0; m < drafts_.size(); ++m) {
      if (Has(m)) RemoveCalls(m);
    }
    std::erase_if(*calls, [this](const DeviceCall& call) { return Has(call.event.member); });
    for (Process& process : trace_.processes) {
      std::erase_if(process.p2p, [this](const Event& event) { return Has(event.member); });
    }
    for (Creation& creation : trace_.creations) {
      if (keys_.contains(creation.key)) creation.event.end_ns = creation.event.start_ns;
    }
  }

 private:
  void Add(uint64_t key, const char* why) {
    if (keys_.insert(key).second) trace_.problems.push_back({ProblemCode::kMissingCalls, why});
  }

  bool Has(uint32_t m) const {
    if (m == kNoIndex) return false;
    return IsUncertainGroup(drafts_[m]) ||
           (IsNcclAlone(drafts_[m].flags) && keys_.contains(drafts_[m].key));
  }

  void RemoveCalls(uint32_t m) {
    Member& member = trace_.members[m];
    member.events.clear();
    member.checkpoints.clear();
    member.entered = member.completed = 0;
    member.counted = false;
    // As with a graph, a device of this process may have work that is not recorded.
    const bool recorded = carriers_.contains(drafts_[m].key) || IsUncertainGroup(drafts_[m]);
    if (!recorded) trace_.processes[member.process].graphs = true;
  }

  const std::vector<MemberDraft>& drafts_;
  Trace& trace_;
  std::set<uint64_t> keys_;
  std::set<uint64_t> carriers_;
  bool uncertain_ = false;
};

void Enter(uint32_t world, const std::vector<uint32_t>& by_rank, Trace* trace) {
  trace->worlds[world].processes = by_rank;
  trace->worlds[world].size = static_cast<int32_t>(by_rank.size());
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] == kNoIndex) continue;
    trace->processes[by_rank[rank]].rank = static_cast<int32_t>(rank);
  }
}

std::vector<uint32_t> ProcessesOf(const Trace& trace, uint32_t world) {
  std::vector<uint32_t> processes;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (trace.processes[p].world == world) processes.push_back(p);
  }
  return processes;
}

}  // namespace

void SplitByDevice(const std::vector<MemberDraft>& drafts, Trace* trace,
                   std::vector<DeviceCall>* calls, std::vector<HostWait>* waits) {
  std::map<uint32_t, std::vector<uint32_t>> nccl;  // by process
  for (uint32_t m = 0; m < drafts.size(); ++m) {
    if (!IsNcclAlone(drafts[m].flags)) continue;
    nccl[trace->members[m].process].push_back(m);
  }
  const Ranges<DeviceCall> calls_of(calls);
  const Ranges<HostWait> waits_of(waits);
  Unjudged unjudged(drafts, trace);
  for (auto& [process, members] : nccl) {
    const Process& host = trace->processes[process];
    const bool knows_mpi = host.flavor != ring::Flavor::kUnknown || host.thread_level >= 0;
    if (!IsSeveral(*trace, members, drafts)) continue;
    if (knows_mpi) {
      unjudged.AddOfMpi(members);
      continue;
    }
    Splitter(process, std::move(members), drafts, trace, calls_of[process], waits_of[process])
        .Split();
  }
  unjudged.AddCarriers();
  unjudged.AddUncounted();
  unjudged.NoteUncertain();
  unjudged.RemoveCalls(calls);
  std::erase_if(*waits, [](const HostWait& wait) { return wait.process == kNoIndex; });
}

std::vector<bool> SplitWorlds(const Trace& trace) {
  std::vector<bool> split(trace.worlds.size(), false);
  for (const Process& process : trace.processes) {
    if (process.host_process != kNoIndex) split[process.world] = true;
  }
  return split;
}

bool NumberByCommunicator(const std::vector<MemberDraft>& drafts, uint32_t world, Trace* trace) {
  const std::vector<uint32_t> processes = ProcessesOf(*trace, world);
  struct Members {
    uint32_t uid = kNoIndex;
    int32_t size = 0;
    std::map<int32_t, uint32_t> by_rank;
    bool fits = true;
  };
  std::map<uint64_t, Members> by_key;
  for (uint32_t m = 0; m < drafts.size(); ++m) {
    const Member& member = trace->members[m];
    if ((drafts[m].flags & ring::kIsNccl) == 0) continue;
    if (trace->processes[member.process].world != world) continue;
    Members& members = by_key[drafts[m].key];
    if (members.size == 0) members.size = drafts[m].size;
    members.uid = std::min(members.uid, member.uid);
    members.fits &= members.size == drafts[m].size && member.rank >= 0 &&
                    member.rank < members.size && members.size <= kMaxSplitRanks &&
                    members.by_rank.emplace(member.rank, member.process).second;
  }
  const Members* first = nullptr;  // the first to be created
  for (const auto& [key, members] : by_key) {
    std::set<uint32_t> known;
    for (const auto& [rank, process] : members.by_rank) known.insert(process);
    const bool all =
        members.fits && known.size() == processes.size() && known.size() == members.by_rank.size();
    if (all && (first == nullptr || members.uid < first->uid)) first = &members;
  }
  if (first == nullptr) return false;
  std::vector<uint32_t> by_rank(static_cast<size_t>(first->size), kNoIndex);
  for (const auto& [rank, process] : first->by_rank) by_rank[static_cast<size_t>(rank)] = process;
  Enter(world, by_rank, trace);
  return true;
}

void NumberInOrder(uint32_t world, Trace* trace) {
  std::vector<uint32_t> processes = ProcessesOf(*trace, world);
  const auto key = [trace](uint32_t p) {
    const Process& process = trace->processes[p];
    const uint32_t host = process.host_process == kNoIndex ? p : process.host_process;
    const int32_t rank = trace->processes[host].rank;
    return std::tuple(static_cast<uint32_t>(rank), host, p);
  };
  std::ranges::sort(processes, [&key](uint32_t a, uint32_t b) { return key(a) < key(b); });
  Enter(world, processes, trace);
}

}  // namespace rollcall
