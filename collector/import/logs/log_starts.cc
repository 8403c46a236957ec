// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_starts.h"

#include <algorithm>
#include <map>
#include <vector>

#include "proto/operations.h"

namespace rollcall::logs {
namespace {

void AddCreation(LogParts* parts, uint32_t process, const char* call,
                 const std::vector<int32_t>& expected) {
  Creation creation;
  creation.key = 1;
  creation.process = process;
  creation.rank = parts->trace().processes[process].rank;
  creation.size =
      expected.empty() ? parts->trace().worlds[0].size : static_cast<int32_t>(expected.size());
  creation.expected = expected;  // empty: the whole job
  creation.call = call;
  Arguments arguments;
  arguments.operation = Operation::kNcclCommInitRank;
  creation.event.arguments = parts->interner().Arguments(arguments);
  parts->trace().creations.push_back(std::move(creation));
  // It waited for the whole of its time limit.
  parts->trace().processes[process].judged_ns = std::max<int64_t>(parts->job().last_ns, 0);
}

void AddStore(LogParts* parts) {
  std::vector<int32_t> silent;
  for (size_t rank = 0; rank < parts->processes().size(); ++rank) {
    if (parts->processes()[rank] == kNoIndex) {
      silent.push_back(static_cast<int32_t>(rank));
    }
  }
  const int64_t lacking = parts->job().store->size - parts->job().store->completed;
  constexpr int64_t kMaxSilent = 64;
  if (static_cast<int64_t>(silent.size()) != lacking || lacking > kMaxSilent) return;
  for (uint32_t p = 0; p < parts->writers().size(); ++p)
    AddCreation(parts, p, "init_process_group", {});
  for (const int32_t rank : silent) parts->AddProcess(rank, nullptr);
}

}  // namespace

void AddStarts(LogParts* parts) {
  if (parts->job().store) AddStore(parts);
  std::map<int32_t, std::vector<uint32_t>> waiting;  // by the rank that they wait for
  for (uint32_t p = 0; p < parts->writers().size(); ++p) {
    if (parts->writers()[p] != nullptr && parts->writers()[p]->lacks_id_of >= 0) {
      waiting[parts->writers()[p]->lacks_id_of].push_back(p);
    }
  }
  for (const auto& [lacking, processes] : waiting) {
    if (static_cast<size_t>(lacking) >= parts->processes().size()) continue;
    if (parts->processes()[static_cast<size_t>(lacking)] == kNoIndex) {
      parts->AddProcess(lacking, nullptr);
    }
    std::vector<int32_t> expected{lacking};
    for (const uint32_t p : processes) expected.push_back(parts->RankOf(p));
    std::ranges::sort(expected);
    constexpr size_t kMaxWaiting = 4096;  // each holds the list
    if (processes.size() > kMaxWaiting) continue;
    for (const uint32_t p : processes) AddCreation(parts, p, "ncclCommInitRank", expected);
  }
}

}  // namespace rollcall::logs
