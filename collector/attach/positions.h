// The places of a job's ranks, in groups: the input of judge.h. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_POSITIONS_H_
#define ROLLCALL_COLLECTOR_ATTACH_POSITIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/rank_state.h"
#include "collector/matching/call_site.h"
#include "proto/operations.h"

namespace rollcall::attach {

// Ranks that wait at the same place. Points into rank states that must outlive it.
struct Group {
  std::vector<const RankState*> members;
  std::vector<int32_t> ranks;  // ascending

  const RankState& front() const { return *members.front(); }
  const LibraryCall& library() const { return front().call; }
  const std::string& call() const { return front().meaning.call; }
  Kind kind() const { return FindOperation(static_cast<uint16_t>(front().meaning.operation)).kind; }
};

// Each rank is in exactly one of the lists.
struct Positions {
  std::vector<Group> waiting;             // the largest first
  std::vector<const RankState*> outside;  // outside every wait, without moving
  std::vector<const RankState*> moving;   // moving, or able to move at any time
  std::vector<const RankState*> gone;
  std::vector<const RankState*> unreadable;
  std::vector<int32_t> missing;  // ranks without a process
};

Positions PositionsOf(const FoundJob& job, const RankStates& rank_states, const CallSites& sites);

// In ascending order.
std::vector<int32_t> RanksOf(const std::vector<const RankState*>& rank_states);
std::vector<int32_t> WaitingRanks(const Positions& positions);

// Whether other ranks decide when the call returns.
bool Waits(const RankState& rank);
bool Still(const RankState& rank);

// Whether the call waits for messages, not for all members.
bool IsOfMessages(const Group& group);
// Whether no rank leaves the call before all have entered it.
bool HoldsAll(const Group& group);
// Whether the two are known to wait on different communicators.
bool Differ(const LibraryCall& a, const LibraryCall& b);

// `a` and `b` are sorted.
std::vector<int32_t> Common(const std::vector<int32_t>& a, const std::vector<int32_t>& b);
std::vector<int32_t> Without(const std::vector<int32_t>& a, const std::vector<int32_t>& b);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_POSITIONS_H_
