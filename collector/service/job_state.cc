// SPDX-License-Identifier: Apache-2.0
#include "collector/service/job_state.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "collector/base/find.h"
#include "collector/base/text.h"
#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall::service {
namespace {

// The results are added up, so the order of processes, which are in a hash table, does not matter.
uint64_t Fold(uint64_t id, uint64_t activity, uint64_t more) {
  uint64_t hash = id * 0x9e3779b97f4a7c15u ^ (activity + 1) * 0xc2b2ae3d27d4eb4fu ^ more;
  hash ^= hash >> 29;
  return hash * 0xbf58476d1ce4e5b9u;
}

// Start-up takes time, and nothing can be proven about ranks before all have appeared.
constexpr int64_t kStartNs = 1'000'000'000;

bool Waits(const JobState::Process& process, int64_t now_ns) {
  const bool starting = process.phase == static_cast<uint32_t>(ring::Phase::kStarting);
  if (starting && now_ns - process.idle_since_ns < kStartNs) return false;
  return JobState::IsLive(process) && JobState::StandsStill(process);
}

}  // namespace

bool JobState::IsLive(const Process& process) {
  return !process.ended && process.phase < static_cast<uint32_t>(ring::Phase::kFinalized);
}

bool JobState::Process::aborts() const {
  return std::ranges::any_of(open_calls, [](const OpenCall& call) {
    return call.operation == static_cast<uint32_t>(Operation::kAbort);
  });
}

std::string_view JobState::ActivityOf(const Process& process) {
  if (!IsLive(process)) return "ended";
  if (StandsStill(process)) return process.in_call() ? "waiting" : "polling";
  return process.in_call() ? "in_call" : "computing";
}

void JobState::OnDigest(uint64_t agent, const rpc::ProcessDigest& digest, int64_t now_ns) {
  if (digest.id() == 0) return;
  Process& process = processes_[digest.id()];
  process.agent = agent;
  process.id = digest.id();
  process.world_rank = digest.world_rank();
  process.world_size = digest.world_size();
  process.job_key = digest.job_key();
  process.phase = digest.phase();
  process.activity = digest.activity();
  process.idle_since_ns = now_ns - std::max<int64_t>(0, digest.idle_ns());
  process.quiet = digest.quiet();
  process.polling = digest.polling();
  process.ended = process.ended || digest.ended();
  process.open_calls.clear();
  for (const rpc::BlockedCall& call : digest.blocked()) {
    process.open_calls.push_back({.operation = call.operation(),
                                  .key = call.key(),
                                  .sequence = call.sequence(),
                                  .since_ns = now_ns - std::max<int64_t>(0, call.blocked_ns())});
  }
  const bool starting = process.phase == static_cast<uint32_t>(ring::Phase::kStarting);
  ever_started_ = ever_started_ || !starting;
  if (const bool inside = starting && !process.open_calls.empty(); inside != process.inside_start) {
    process.inside_start = inside;
    inside_start_ += inside ? 1 : -1;
  }
  if (!IsLive(process) && process.gone_since_ns == 0) process.gone_since_ns = now_ns;
  for (const rpc::MemberDigest& member : digest.members()) {
    StoreMember(member, &process);
    if (!member.name().empty() && names_.size() < kCommunicatorsKept) {
      names_[member.key()] = CleanText(member.name(), kMaxNameBytes);
    }
    CompareHashes(member, digest.id());
  }
}

void JobState::StoreMember(const rpc::MemberDigest& member, Process* process) {
  auto known = std::ranges::find(process->members, member.key(), &Member::key);
  if (known == process->members.end()) {
    if (process->members.size() >= kMembersKept) return;
    known = process->members.insert(known, Member{.key = member.key()});
  }
  known->size = member.size();
  known->entered = member.entered();
  known->completed = member.completed();
}

void JobState::CompareHashes(const rpc::MemberDigest& member, uint64_t id) {
  if (member.unordered() || member.size() == 1) return;
  CompareMarks(member.key(), member.marks(), id);
  constexpr uint64_t kOfResults = 0x5bd1e9955bd1e995;  // results have sequence numbers of their own
  CompareMarks(member.key() ^ kOfResults, member.results(), id);
  for (const uint64_t sequence : {member.non_finite_input(), member.non_finite_result()}) {
    // Counts a call once for each process: the value may come from a place where nobody is to
    // blame.
    if (sequence == 0 || non_finite_.size() >= kCommunicatorsKept) continue;
    if (non_finite_.emplace(id, member.key(), sequence).second) {
      mismatches_ |= Fold(member.key(), sequence, 17) | 1;
    }
  }
}

void JobState::CompareMarks(uint64_t key, const Marks& marks, uint64_t id) {
  if (marks.empty()) return;
  if (!marks_.contains(key) && marks_.size() >= kCommunicatorsKept) return;
  std::map<uint64_t, Seen>& seen = marks_[key];
  for (const rpc::Mark& mark : marks) {
    const auto [entry, is_new] = seen.try_emplace(mark.sequence(), Seen{mark.semantic_hash(), id});
    if (!is_new && entry->second.semantic_hash != mark.semantic_hash() && entry->second.id != id) {
      mismatches_ |= Fold(key, mark.sequence(), 1) | 1;
    }
  }
  while (seen.size() > kMarksKept) seen.erase(seen.begin());
}

void JobState::ClearMismatches() {
  mismatches_ = 0;
  marks_.clear();
}

void JobState::OnProcessEvent(const rpc::ProcessEvent& event) {
  Process* process = FindOrNull(processes_, event.id());
  if (process != nullptr) process->abnormal = event.abnormal();
}

void JobState::RemoveAgent(uint64_t agent) {
  std::erase_if(processes_, [agent](const auto& entry) { return entry.second.agent == agent; });
}

std::vector<JobState::Progress> JobState::Communicators(int64_t now_ns) const {
  std::unordered_map<uint64_t, Progress> by_key;
  std::unordered_set<uint64_t> live;
  for (const auto& [id, process] : processes_) {
    const bool is_live = IsLive(process);
    for (const Member& member : process.members) {
      Progress& progress = by_key[member.key];
      progress.key = member.key;
      progress.job = process.job_key;
      progress.size = member.size;
      progress.entered_by_first = std::max(progress.entered_by_first, member.entered);
      progress.entered_by_last = std::min(progress.entered_by_last, member.entered);
      progress.completed_by_all = std::min(progress.completed_by_all, member.completed);
      if (is_live) live.insert(member.key);
    }
    if (!is_live || !StandsStill(process)) continue;
    for (const OpenCall& call : process.open_calls) {
      auto* found = FindOrNull(by_key, call.key);
      if (found == nullptr) continue;
      ++found->waiting;
      found->longest_wait_ns = std::max(found->longest_wait_ns, now_ns - call.since_ns);
    }
  }
  std::vector<Progress> all;
  all.reserve(live.size());
  for (const uint64_t key : live) all.push_back(by_key[key]);
  std::ranges::sort(all, [](const Progress& a, const Progress& b) {
    return std::tuple(-a.size, a.job, a.key) < std::tuple(-b.size, b.job, b.key);
  });
  return all;
}

std::string JobState::NameOfCommunicator(uint64_t key) const {
  const std::string* name = FindOrNull(names_, key);
  return name == nullptr ? "" : *name;
}

size_t JobState::live() const {
  return static_cast<size_t>(
      std::ranges::count_if(processes_, [](const auto& entry) { return IsLive(entry.second); }));
}

Suspicion JobState::Check(int64_t now_ns) const {
  struct World {
    uint64_t live = 0;
    uint64_t waiting = 0;
    uint64_t gone = 0;  // ended or finalized
    bool just_ended = false;
    int64_t last_moved_ns = 0;
    int64_t waits_since_ns = INT64_MAX;  // the longest waiting process
    int64_t last_waits_ns = 0;           // the process that began to wait last
    uint64_t picture = 0;                // of all processes
    uint64_t waiting_picture = 0;        // of the waiting processes
    std::vector<uint64_t> stalled;
    std::vector<uint64_t> slow;
  };
  std::map<std::pair<uint64_t, int32_t>, World> worlds;
  for (const auto& [id, process] : processes_) {
    World& world = worlds[{process.job_key, process.world_size}];
    world.picture += Fold(id, process.activity, process.ended ? 2 : 1);
    if (!IsLive(process)) {
      ++world.gone;
      world.just_ended |= process.ended && now_ns - process.gone_since_ns < options_.ended_ns;
      continue;
    }
    ++world.live;
    world.last_moved_ns = std::max(world.last_moved_ns, process.idle_since_ns);
    const int64_t idle_ns = now_ns - process.idle_since_ns;
    const bool idle_long = idle_ns >= options_.times.stall_after_ns;
    if (Waits(process, now_ns)) {
      ++world.waiting;
      world.waits_since_ns = std::min(world.waits_since_ns, process.idle_since_ns);
      world.last_waits_ns = std::max(world.last_waits_ns, process.idle_since_ns);
      world.waiting_picture += Fold(id, process.activity, 3);
    } else if (idle_long && process.quiet) {
      world.stalled.push_back(id);
    } else if (idle_ns >= options_.times.stall_after_ns / 2 && process.quiet) {
      world.slow.push_back(id);
    }
  }

  Suspicion found;
  std::vector<uint64_t> slow;
  const auto suspect = [&found](Reason reason, uint64_t fingerprint) {
    if (reason > found.reason) found = {reason, fingerprint, {}};
  };
  if (mismatches_ != 0) suspect(Reason::kMismatch, mismatches_);
  for (auto& [key, world] : worlds) {
    if (world.waiting == 0 || world.just_ended) continue;
    slow.insert(slow.end(), world.slow.begin(), world.slow.end());
    // After each threshold the same state may get a different verdict.
    const auto passed = [&](int64_t since_ns) { return options_.times.Passed(now_ns - since_ns); };
    const uint64_t moved = passed(world.last_moved_ns);
    const uint64_t waited = passed(world.waits_since_ns) << 8 | passed(world.last_waits_ns);
    if (!world.stalled.empty()) {
      suspect(Reason::kStalled, Fold(world.waiting_picture, world.stalled.size(), 5));
      if (found.reason == Reason::kStalled && found.stalled.empty()) {
        found.stalled = std::move(world.stalled);
        std::ranges::sort(found.stalled);
      }
    }
    if (world.gone > 0) suspect(Reason::kEnded, Fold(world.picture, moved, 7));
    if (world.waiting == world.live)
      suspect(Reason::kAllWait, Fold(world.picture, moved << 16 | waited, 11));
    if (now_ns - world.waits_since_ns >= options_.some_wait_ns) {
      suspect(Reason::kSomeWait, Fold(world.waiting_picture, waited, 13));
    }
  }
  found.slow = std::move(slow);
  return found;
}

}  // namespace rollcall::service
