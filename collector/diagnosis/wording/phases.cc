// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

constexpr size_t kMaxNotes = 4;

}  // namespace

void AddPhases(const Trace& trace, Finding* finding) {
  if (finding->world == kNoIndex || !(finding->hangs || finding->culprit_gone)) return;
  const std::vector<uint32_t>& processes = trace.worlds[finding->world].processes;
  // Culprits' phases first, then by text.
  std::map<std::pair<bool, std::string>, std::vector<int32_t>> groups;
  for (const int32_t rank : RanksOf(*finding)) {
    if (rank < 0 || static_cast<size_t>(rank) >= processes.size()) continue;
    const uint32_t process = processes[static_cast<size_t>(rank)];
    if (process == kNoIndex || trace.processes[process].user_phase.empty()) continue;
    const bool culprit = std::ranges::binary_search(finding->culprits, rank);
    groups[{!culprit, trace.processes[process].user_phase}].push_back(rank);
  }
  for (auto& [key, ranks] : groups) {
    finding->phases.push_back({std::move(ranks), key.second});
  }
  for (size_t i = 0; i < std::min(finding->phases.size(), kMaxNotes); ++i) {
    const RanksPhase& phase = finding->phases[i];
    finding->notes.push_back(fmt::format("phase of {}: {}", RanksPhrase(phase.ranks), phase.text));
  }
  if (finding->phases.size() > kMaxNotes) {
    finding->notes.push_back(
        fmt::format("{} other phases are not shown", finding->phases.size() - kMaxNotes));
  }
}

std::string_view PhaseName(std::string_view text) { return text.substr(0, text.find("; ")); }

bool FailedBefore(std::string_view text) {
  return text.find("; before: ") != std::string_view::npos;
}

}  // namespace rollcall
