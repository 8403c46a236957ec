// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/places.h"

#include <algorithm>

#include "collector/matching/caller.h"

namespace rollcall {
namespace {

// Whether a rank is in a call that requires that all ranks have called MPI_Init and none has
// finished MPI_Finalize.
bool AllHaveBegun(const Trace& trace) {
  return std::ranges::any_of(trace.processes, [](const Process& process) {
    const Place& place = *process.place;
    return !place.no_library && place.meaning.meaning == FrameMeaning::kMpi &&
           place.kind() != Kind::kInit && place.meaning.operation != Operation::kFinalize &&
           place.Waits() && place.IsStill();
  });
}

// Whether the rank waits in a point-to-point call. A collective also consists of messages, but
// these are the library's own.
bool IsOfMessages(const Place& place) {
  const CallGroup group = GroupOf(place.kind());
  return place.meaning.meaning == FrameMeaning::kMpi &&
         (group == CallGroup::kP2p || group == CallGroup::kRequests);
}

Position PositionOf(const Trace& trace, const Place& place, bool begun) {
  const bool waits = place.Waits();
  // The process that started the rank's program, such as a shell, is still there.
  if (place.gone || (place.no_library && begun && place.stillness == Stillness::kAsleep)) {
    return Position::kGone;
  }
  if (place.unreadable) return Position::kUnreadable;
  if (place.stopped) return Position::kOutside;  // a stopped process does not continue
  // Whether a process moved before its core was written is unknown.
  const bool may_go_on = place.may_act || place.library.outside;
  const bool moves = place.ended || may_go_on || !place.IsStill() || (place.timed && !waits);
  if (moves && trace.evidence != Trace::Evidence::kCores) return Position::kMoving;
  return waits ? Position::kWaiting : Position::kOutside;
}

void Join(const Trace& trace, uint32_t p, const CallSites& sites,
          std::vector<PlaceGroup>* waiting) {
  const Place& place = *trace.processes[p].place;
  for (PlaceGroup& group : *waiting) {
    if (group.place->meaning.call != place.meaning.call ||
        sites.Id(group.place->call_path) != sites.Id(place.call_path)) {
      continue;
    }
    // Rows of a grid are in one call at one place; a rank that belongs to two rows is in one of
    // them.
    if (!WaitsForMessages(group) && AreApart(group.place->library, place.library) &&
        group.place->library.HasMember(trace.processes[p].rank)) {
      continue;
    }
    group.members.push_back(p);
    group.of_collective |= place.library.of_collective;
    return;
  }
  waiting->push_back({{p}, &place, place.library.of_collective});
}

}  // namespace

bool AwaitEachOther(const Trace& trace, const std::vector<uint32_t>& processes) {
  return !processes.empty() && std::ranges::all_of(processes, [&](uint32_t p) {
    const Place& place = *trace.processes[p].place;
    if (!IsOfMessages(place) || place.library.of_collective) return false;
    const std::vector<int32_t> awaited = place.library.AllAwaited();
    return std::ranges::any_of(awaited, [&](int32_t rank) {
      return std::ranges::find(processes, ProcessOf(trace, 0, rank)) != processes.end();
    });
  });
}

bool WaitsForMessages(const PlaceGroup& group) {
  return !group.of_collective && IsOfMessages(*group.place);
}

bool WaitsForWindow(const PlaceGroup& group) { return group.place->kind() == Kind::kWindowSync; }

bool AreApart(const LibraryCall& a, const LibraryCall& b) {
  return !a.communicator.empty() && !b.communicator.empty() && !a.member_runs.empty() &&
         !b.member_runs.empty() &&
         (a.communicator != b.communicator || a.member_runs != b.member_runs);
}

bool AreApartByLoop(const CallSites& sites, const Place& a, const Place& b) {
  const PathDivergence part = sites.ComparePaths(a.call_path, b.call_path);
  // MPI_Finalize may be called at exit, where nothing of the program is on the stack.
  if (!part.known && b.meaning.operation == Operation::kFinalize)
    return sites.IsInLoop(a.call_path);
  if (!part.known || !part.branch || part.same || part.arms) return false;
  const auto in_each_round = [&](const EnclosingLoop& loop) { return !sites.IsConditional(loop); };
  return (std::ranges::any_of(part.loops_a, in_each_round) ||
          std::ranges::any_of(part.loops_b, in_each_round)) &&
         !FindCaller(sites, b.call_path, a.call_path);
}

bool BlocksUntilAllEntered(const PlaceGroup& group) {
  if (group.of_collective) return false;  // which collective is unknown
  const auto operation = static_cast<uint16_t>(group.place->meaning.operation);
  const Needs needs = NeedsOf(FindOperation(operation).rule);
  return needs == Needs::kAll || needs == Needs::kAllIfCounted || needs == Needs::kUnknown;
}

std::vector<Position> PositionsOf(const Trace& trace) {
  std::vector<Position> positions;
  const bool begun = AllHaveBegun(trace);
  for (const Process& process : trace.processes) {
    positions.push_back(PositionOf(trace, *process.place, begun));
  }
  return positions;
}

std::vector<uint32_t> Places::Waiting() const {
  std::vector<uint32_t> all;
  for (const PlaceGroup& group : waiting) {
    all.insert(all.end(), group.members.begin(), group.members.end());
  }
  std::ranges::sort(all);
  return all;
}

Places BuildPlaces(const Trace& trace, const CallSites& sites) {
  Places places;
  if (trace.HasRecords()) return places;
  const std::vector<Position> positions = PositionsOf(trace);
  std::vector<uint32_t>* const lists[] = {nullptr, &places.outside, &places.moving, &places.gone,
                                          &places.unreadable};
  for (uint32_t p = 0; p < positions.size(); ++p) {
    if (positions[p] == Position::kWaiting) {
      Join(trace, p, sites, &places.waiting);
    } else {
      lists[static_cast<size_t>(positions[p])]->push_back(p);
    }
  }
  std::ranges::stable_sort(places.waiting, [](const PlaceGroup& a, const PlaceGroup& b) {
    return a.members.size() > b.members.size();
  });
  const World& world = trace.worlds.front();
  for (int32_t rank = 0; rank < world.size; ++rank) {
    if (world.processes[static_cast<size_t>(rank)] == kNoIndex) places.missing.push_back(rank);
  }
  places.variables = CompareVariables(trace);
  return places;
}

}  // namespace rollcall
