// SPDX-License-Identifier: Apache-2.0
#include "collector/live/condition_reader.h"

#include "collector/model/condition_names.h"
#include "collector/symbolize/source_blocks.h"

namespace rollcall {

std::vector<std::string> ConditionReader::NamesAround(const SourceFrame& frame) {
  constexpr size_t kMaxNames = 256;
  const auto [entry, is_new] = files_.try_emplace(frame.file);
  if (is_new) entry->second = ReadSourceBlocks(frame.file);
  ConditionNames names;
  if (entry->second) {
    const SourceFlow* function = FunctionAround(entry->second->flow, frame.line);
    for (const SourceCondition& condition : entry->second->conditions) {
      if (FunctionAround(entry->second->flow, condition.first) == function) {
        AddConditionNames(condition.text, IsFortran(frame.file), &names);
      }
    }
  }
  if (names.variables.size() > kMaxNames) names.variables.resize(kMaxNames);
  return std::move(names.variables);
}

}  // namespace rollcall
