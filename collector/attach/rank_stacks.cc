// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/rank_stacks.h"

#include <string>

#include "collector/report/stacks.h"

namespace rollcall::attach {
namespace {

// What a rank is doing at the end of its path.
std::string DoingText(const Place& rank) {
  if (rank.gone) return rank.fault.empty() ? "ended" : "ended by " + rank.fault;
  if (!rank.problem.empty()) return "no stack";
  if (WaitsForRanks(rank.meaning.meaning)) return rank.meaning.call;
  std::string text(MeaningText(rank.meaning.meaning));
  if (!rank.meaning.call.empty()) text += ", " + rank.meaning.call;
  return text;
}

}  // namespace

std::vector<RankStack> RankStacks(const Trace& trace) {
  std::vector<RankStack> stacks;
  for (const Process& process : trace.processes) {
    if (!process.place) continue;
    stacks.push_back({.rank = process.rank,
                      .frames = rollcall::FramesOf(trace, process.place->call_path),
                      .doing = DoingText(*process.place)});
  }
  return stacks;
}

}  // namespace rollcall::attach
