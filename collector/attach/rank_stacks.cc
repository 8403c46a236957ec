#include "collector/attach/rank_stacks.h"

#include <string>

#include "collector/report/stacks.h"

namespace rollcall::attach {
namespace {

// What a rank is doing at the end of its path.
std::string DoingText(const RankState& rank) {
  if (rank.gone) return rank.fault.empty() ? "ended" : "ended by " + rank.fault;
  if (!rank.problem.empty()) return "no stack";
  if (WaitsForRanks(rank.meaning.meaning)) return rank.meaning.call;
  std::string text(MeaningText(rank.meaning.meaning));
  if (!rank.meaning.call.empty()) text += ", " + rank.meaning.call;
  return text;
}

}  // namespace

std::vector<RankStack> RankStacks(const RankStates& rank_states) {
  std::vector<RankStack> stacks;
  for (const RankState& rank : rank_states.ranks) {
    stacks.push_back({.rank = rank.rank,
                      .frames = rollcall::FramesOf(rank_states.trace, rank.call_path),
                      .doing = DoingText(rank)});
  }
  return stacks;
}

}  // namespace rollcall::attach
