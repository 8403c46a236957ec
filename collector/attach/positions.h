// Where the ranks of a job stand, in groups: what judge.h judges. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_POSITIONS_H_
#define ROLLCALL_COLLECTOR_ATTACH_POSITIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/standing.h"
#include "collector/matching/call_site.h"
#include "proto/operations.h"

namespace rollcall::attach {

// Ranks that wait at one place. Of standings that must outlive it.
struct Group {
  std::vector<const RankStanding*> members;
  std::vector<int32_t> ranks;  // rising

  const RankStanding& front() const { return *members.front(); }
  const LibraryCall& library() const { return front().call; }
  const std::string& call() const { return front().meaning.call; }
  Kind kind() const { return FindOperation(static_cast<uint16_t>(front().meaning.operation)).kind; }
};

// Each rank is in one of them.
struct Positions {
  std::vector<Group> waiting;                // the largest first
  std::vector<const RankStanding*> outside;  // of every wait, and they do not move
  std::vector<const RankStanding*> moving;   // or may, before anybody looks again
  std::vector<const RankStanding*> gone;
  std::vector<const RankStanding*> unreadable;
  std::vector<int32_t> missing;  // no process of it was found
};

Positions PositionsOf(const FoundJob& job, const Standings& standings, const CallSites& sites);

// In rising order.
std::vector<int32_t> RanksOf(const std::vector<const RankStanding*>& standings);
std::vector<int32_t> WaitingRanks(const Positions& positions);

// What other ranks do decides when the call returns.
bool Waits(const RankStanding& rank);
bool Still(const RankStanding& rank);

// A call that waits for messages, not for all members.
bool IsOfMessages(const Group& group);
// Nobody leaves that call before all have entered it.
bool HoldsAll(const Group& group);
// It is known that the two wait on different communicators.
bool Differ(const LibraryCall& a, const LibraryCall& b);

// Of rising ranks.
std::vector<int32_t> Common(const std::vector<int32_t>& a, const std::vector<int32_t>& b);
std::vector<int32_t> Without(const std::vector<int32_t>& a, const std::vector<int32_t>& b);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_POSITIONS_H_
