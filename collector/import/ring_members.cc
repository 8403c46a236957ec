// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "collector/import/ring_elements.h"
#include "collector/import/ring_parts.h"
#include "collector/import/trace_builder.h"

namespace rollcall {
namespace {

// The most ranks in all lists of one ring together: 500 communicators of 16,384 ranks.
constexpr uint64_t kMaxListedRanks = uint64_t{1} << 23;

void ReadCheckpoints(const ring::Member& recorded, Member* member) {
  // If numbers are equal, the first one counts.
  std::array<Checkpoint, ring::kRecentCheckpoints + ring::kHistoryCheckpoints> all;
  auto end = all.begin();
  const auto add = [&](const ring::Checkpoint& checkpoint) {
    if (!IsWhole(checkpoint, recorded)) return;
    const auto at = std::find_if(all.begin(), end, [&](const Checkpoint& other) {
      return other.sequence >= checkpoint.sequence;
    });
    if (at != end && at->sequence == checkpoint.sequence) return;
    std::move_backward(at, end, end + 1);
    ++end;
    *at = {checkpoint.sequence, checkpoint.semantic_hash, checkpoint.path_hash};
  };
  for (const ring::Checkpoint& checkpoint : recorded.recent) add(checkpoint);
  for (const ring::Checkpoint& checkpoint : recorded.history) add(checkpoint);
  member->checkpoints.assign(all.begin(), end);
}

}  // namespace

namespace {

// `or_null`: also accepts MPI_PROC_NULL, which a neighbor beyond the border of a grid has.
std::vector<int32_t> Expand(const std::vector<ring::RankRun>& runs, bool or_null) {
  std::vector<int32_t> ranks;
  for (const ring::RankRun& run : runs) {
    int64_t rank = run.first;
    for (uint32_t i = 0; i < run.count; ++i, rank += run.stride) {
      const bool null = or_null && rank == ring::kProcNullPeer;
      if (!null && (rank < 0 || rank >= int64_t{kMaxRanks})) return {};
      ranks.push_back(static_cast<int32_t>(rank));
    }
  }
  return ranks;
}

}  // namespace

std::vector<int32_t> ExpandRanks(const std::vector<ring::RankRun>& runs) {
  return Expand(runs, false);
}

RingMembers::RingMembers(RingContext* context, std::vector<MemberDraft>* drafts)
    : context_(*context),
      drafts_(*drafts),
      ranks_left_(kMaxListedRanks),
      first_(static_cast<uint32_t>(context->trace.members.size())) {
  for (const ring::Member& recorded : context->ring.members) Add(recorded, drafts);
}

uint32_t RingMembers::Find(uint32_t uid) const {
  const std::vector<ring::Member>& all = context_.ring.members;  // by rising uid
  const auto found = std::ranges::lower_bound(all, uid, {}, &ring::Member::uid);
  if (uid == 0 || found == all.end() || found->uid != uid) return kNoIndex;
  return first_ + static_cast<uint32_t>(found - all.begin());
}

std::vector<ring::RankRun> RingMembers::Runs(uint32_t ref) {
  std::vector<ring::RankRun> runs =
      context_.ring.RankList(ref, std::min<uint64_t>(ranks_left_, kMaxRanks));
  for (const ring::RankRun& run : runs) ranks_left_ -= run.count;
  if (runs.empty() && !context_.ring.String(ref).empty()) {
    context_.trace.problems.push_back(
        {ProblemCode::kOverLimit, "a list of ranks is implausibly long", context_.ring.source});
  }
  return runs;
}

void RingMembers::Add(const ring::Member& recorded, std::vector<MemberDraft>* drafts) {
  Member member;
  member.process = context_.index;
  member.uid = recorded.uid;
  member.rank = recorded.rank;
  member.state = static_cast<ring::MemberState>(recorded.state);
  member.entered = recorded.entered;
  member.completed = recorded.completed;
  // Before version 1.5 this word was reserved and 0.
  member.rejected = recorded.rejected;
  member.neighbors_in = Expand(Runs(recorded.neighbors_in), true);
  member.neighbors_out = Expand(Runs(recorded.neighbors_out), true);
  const auto is_known = [this](uint32_t ref, const std::vector<int32_t>& ranks) {
    return ref != 0 && ranks.empty() == context_.ring.String(ref).empty();
  };
  member.neighbors_known = is_known(recorded.neighbors_in, member.neighbors_in) &&
                           is_known(recorded.neighbors_out, member.neighbors_out);
  ReadCheckpoints(recorded, &member);

  MemberDraft draft;
  draft.key = recorded.key;
  draft.parent_key = recorded.parent_key;
  draft.parent_sequence = recorded.parent_sequence;
  draft.creating_operation = recorded.creating_operation;
  draft.flags = recorded.flags;
  draft.device = static_cast<int32_t>(recorded.device) - 1;
  draft.size = recorded.size;
  draft.remote_size = recorded.remote_size;
  draft.name = CleanText(context_.ring.String(recorded.name), 128);
  draft.ranks = Runs(recorded.ranks);
  draft.remote_ranks = Runs(recorded.remote_ranks);

  if (!IsUncertainGroup(draft)) AddCreation(recorded);
  if ((recorded.flags & (ring::kIsNccl | ring::kIsC10d)) != 0) {
    context_.process.without_mpi =
        context_.process.flavor == ring::Flavor::kUnknown && context_.process.thread_level < 0;
  }
  if ((recorded.flags & ring::kIsNccl) != 0) {
    // init_process_group() makes a group for devices beside Gloo's, which may never be used.
    if (IsNcclAlone(recorded.flags) || recorded.entered != 0) context_.process.device = true;
    member.stopped = recorded.stopped_launch != 0;
  }
  context_.trace.members.push_back(std::move(member));
  drafts->push_back(std::move(draft));
}

bool RingMembers::IsGroupOnDevice(uint32_t uid) const {
  const uint32_t m = Find(uid);
  return m != kNoIndex && IsGroupOnDevices(drafts_[m]);
}

bool RingMembers::IsUncertain(uint32_t uid) const {
  const uint32_t m = Find(uid);
  return m != kNoIndex && IsUncertainGroup(drafts_[m]);
}

uint64_t RingMembers::NoteCarrier(uint32_t uid) {
  const uint32_t m = Find(uid);
  if (m == kNoIndex) return 0;
  drafts_[m].carries = true;
  return drafts_[m].key;
}

void RingMembers::AddCreation(const ring::Member& member) {
  const OperationInfo& info = FindOperation(member.creating_operation);
  if (info.kind != Kind::kNcclInit) return;
  creations_.emplace(member.uid, context_.trace.creations.size());
  Creation creation;
  creation.key = member.key;
  creation.process = context_.index;
  creation.rank = member.rank;
  creation.size = member.size;
  creation.call = info.name;
  if (info.operation == Operation::kC10dRendezvous) {
    creation.call = FindOperation(static_cast<uint16_t>(Operation::kC10dInitGroup)).name;
    creation.endpoint = CleanText(context_.ring.String(member.name), 128);
    if (creation.endpoint.empty()) creation.endpoint = "an unknown address";
  }
  creation.event.start_ns = context_.Time(member.created_ticks);
  // No rank waits for a communicator whose creation failed or was aborted.
  const bool over =
      member.in_flight == 0 || member.state == static_cast<uint32_t>(ring::MemberState::kFreed);
  if (over) creation.event.end_ns = creation.event.start_ns;
  context_.trace.creations.push_back(std::move(creation));
}

void RingMembers::NoteCreation(uint32_t uid, const Event& call) {
  const auto found = creations_.find(uid);
  if (found == creations_.end()) return;
  Event& event = context_.trace.creations[found->second].event;
  const bool inside = event.end_ns == kNoTime;
  event = call;
  if (inside) event.end_ns = kNoTime;
  if (!inside && event.end_ns == kNoTime) event.end_ns = event.start_ns;
}

}  // namespace rollcall
