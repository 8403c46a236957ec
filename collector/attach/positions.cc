#include "collector/attach/positions.h"

#include <algorithm>
#include <iterator>

#include "collector/model/rank_set.h"

namespace rollcall::attach {
namespace {

// A call that waits for a nonblocking collective.
bool OfCollective(const Group& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const RankState* rank) { return rank->call.of_collective; });
}

// Whether a rank is in a call that requires that all ranks have called MPI_Init and none has
// finished MPI_Finalize.
bool AllHaveBegun(const RankStates& rank_states) {
  return std::any_of(rank_states.ranks.begin(), rank_states.ranks.end(), [](const RankState& rank) {
    const Kind kind = FindOperation(static_cast<uint16_t>(rank.meaning.operation)).kind;
    return !rank.no_library && rank.meaning.meaning == FrameMeaning::kMpi && kind != Kind::kInit &&
           rank.meaning.operation != Operation::kFinalize && Waits(rank) && Still(rank);
  });
}

void Join(const RankState& rank, const CallSites& sites, std::vector<Group>* waiting) {
  for (Group& group : *waiting) {
    if (group.call() != rank.meaning.call ||
        sites.Id(group.front().call_path) != sites.Id(rank.call_path)) {
      continue;
    }
    // Rows of a grid are in one call at one place; a rank that belongs to two rows is in one of
    // them.
    if (!IsOfMessages(group) && Differ(group.library(), rank.call) &&
        group.library().HasMember(rank.rank)) {
      continue;
    }
    group.members.push_back(&rank);
    group.ranks.push_back(rank.rank);
    return;
  }
  waiting->push_back({{&rank}, {rank.rank}});
}

}  // namespace

bool IsOfMessages(const Group& group) {
  if (group.front().meaning.meaning != FrameMeaning::kMpi) return false;
  if (OfCollective(group)) return false;
  const CallGroup kind = GroupOf(group.kind());
  return kind == CallGroup::kP2p || kind == CallGroup::kRequests;
}

bool Differ(const LibraryCall& a, const LibraryCall& b) {
  return !a.communicator.empty() && !b.communicator.empty() && !a.member_runs.empty() &&
         !b.member_runs.empty() &&
         (a.communicator != b.communicator || a.member_runs != b.member_runs);
}

bool HoldsAll(const Group& group) {
  if (OfCollective(group)) return false;  // which collective is unknown
  const Rule rule = FindOperation(static_cast<uint16_t>(group.front().meaning.operation)).rule;
  const Needs needs = NeedsOf(rule);
  return needs == Needs::kAll || needs == Needs::kAllIfCounted || needs == Needs::kUnknown;
}

std::vector<int32_t> Common(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<int32_t> Without(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

bool Waits(const RankState& rank) {
  const Kind kind = FindOperation(static_cast<uint16_t>(rank.meaning.operation)).kind;
  return WaitsForRanks(rank.meaning.meaning) && !IsLocal(kind);
}

bool Still(const RankState& rank) {
  return rank.stillness == Stillness::kAsleep || rank.stillness == Stillness::kSame;
}

std::vector<int32_t> RanksOf(const std::vector<const RankState*>& rank_states) {
  std::vector<int32_t> ranks;
  ranks.reserve(rank_states.size());
  for (const RankState* rank_state : rank_states) ranks.push_back(rank_state->rank);
  Normalize(&ranks);
  return ranks;
}

std::vector<int32_t> WaitingRanks(const Positions& positions) {
  std::vector<int32_t> ranks;
  for (const Group& group : positions.waiting)
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  Normalize(&ranks);
  return ranks;
}

Positions PositionsOf(const FoundJob& job, const RankStates& rank_states, const CallSites& sites) {
  Positions all;
  const bool begun = AllHaveBegun(rank_states);
  for (const RankState& rank : rank_states.ranks) {
    const bool waits = Waits(rank);
    // The process that started the rank's program, such as a shell, is still there.
    if (rank.gone || (rank.no_library && begun && rank.stillness == Stillness::kAsleep)) {
      all.gone.push_back(&rank);
    } else if (rank.denied) {
      all.unreadable.push_back(&rank);
    } else if (rank.activity_level == ActivityLevel::kStopped) {
      all.outside.push_back(&rank);  // whatever it was about to do
    } else if (rank_states.cores) {
      waits ? Join(rank, sites, &all.waiting) : all.outside.push_back(&rank);
    } else if (rank.ended || rank.may_act || !Still(rank) || (rank.timed && !waits)) {
      all.moving.push_back(&rank);
    } else if (waits) {
      Join(rank, sites, &all.waiting);
    } else {
      all.outside.push_back(&rank);
    }
  }
  for (Group& group : all.waiting) Normalize(&group.ranks);
  std::stable_sort(all.waiting.begin(), all.waiting.end(), [](const Group& a, const Group& b) {
    return a.members.size() > b.members.size();
  });
  const std::vector<uint32_t>& processes = rank_states.trace.worlds[0].processes;
  for (int32_t rank = 0; rank < job.size; ++rank) {
    if (processes[static_cast<size_t>(rank)] == kNoIndex) all.missing.push_back(rank);
  }
  return all;
}

}  // namespace rollcall::attach
