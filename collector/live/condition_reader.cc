// SPDX-License-Identifier: Apache-2.0
#include "collector/live/condition_reader.h"

#include "collector/model/condition_names.h"
#include "collector/symbolize/source_blocks.h"

namespace rollcall {

std::vector<std::string> ConditionReader::NamesAround(const SourceFrame& frame) {
  constexpr size_t kMaxNames = 256;
  const std::optional<SourceBlocks>& blocks = Blocks(frame.file);
  ConditionNames names;
  if (blocks) {
    const SourceFlow* function = FunctionAround(blocks->flow, frame.line);
    for (const SourceCondition& condition : blocks->conditions) {
      if (FunctionAround(blocks->flow, condition.first) == function) {
        AddConditionNames(condition.text, IsFortran(frame.file), &names);
      }
    }
  }
  if (names.variables.size() > kMaxNames) names.variables.resize(kMaxNames);
  return std::move(names.variables);
}

const SourceFlow* ConditionReader::FunctionOf(const SourceFrame& frame) {
  const std::optional<SourceBlocks>& blocks = Blocks(frame.file);
  return blocks ? FunctionAround(blocks->flow, frame.line) : nullptr;
}

const std::optional<SourceBlocks>& ConditionReader::Blocks(const std::string& file) {
  const auto [entry, is_new] = files_.try_emplace(file);
  if (is_new) entry->second = ReadSourceBlocks(file);
  return entry->second;
}

}  // namespace rollcall
