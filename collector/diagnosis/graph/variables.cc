// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

using Processes = std::vector<const Process*>;

bool SameFunction(const FrameVariables& a, const FrameVariables& b) {
  return a.frame.function == b.frame.function && a.frame.file == b.frame.file;
}

const PythonInteger* Find(const FrameVariables& frame, const std::string& name) {
  const auto found = std::ranges::find_if(
      frame.integers, [&](const PythonInteger& integer) { return integer.name == name; });
  return found == frame.integers.end() ? nullptr : &*found;
}

bool HasWord(std::string_view words, std::string_view word) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

// Whether a loop around the frame's line assigns the name in each iteration.
bool Counts(const Trace& trace, const FrameVariables& frame, const std::string& name) {
  for (const SourceBlocks& source : trace.sources) {
    if (source.file != frame.frame.file) continue;
    return std::ranges::any_of(source.blocks, [&](const SourceBlock& block) {
      return block.kind == SourceBlock::Kind::kLoop && block.Holds(frame.frame.line) &&
             HasWord(block.subject, name);
    });
  }
  return false;
}

// False if not all ranks have the variable, if it is equal on all ranks, or if it equals the rank.
bool Compare(const Processes& processes, size_t depth, const std::string& name,
             ComparedVariable* variable) {
  std::map<int64_t, std::vector<int32_t>> by_value;
  bool is_rank = true;
  for (const Process* process : processes) {
    const PythonInteger* integer = Find(process->place->variables[depth], name);
    if (integer == nullptr) return false;
    by_value[integer->value].push_back(process->rank);
    is_rank &= integer->value == process->rank;
    if (by_value.size() > kMaxValues) return false;
  }
  if (by_value.size() < 2 || is_rank) return false;
  const SourceFrame& frame = processes.front()->place->variables[depth].frame;
  variable->name = name;
  variable->function = frame.function;
  variable->place = PlaceText(frame);
  for (auto& [value, having] : by_value) variable->values.push_back({value, std::move(having)});
  std::ranges::stable_sort(variable->values, [](const auto& a, const auto& b) {
    return a.ranks.size() > b.ranks.size();
  });
  return true;
}

}  // namespace

std::vector<ComparedVariable> CompareVariables(const Trace& trace) {
  Processes processes;
  for (const Process& process : trace.processes) {
    if (process.place) processes.push_back(&process);
  }
  std::vector<ComparedVariable> compared;
  if (processes.empty()) return compared;
  const std::vector<FrameVariables>& first = processes.front()->place->variables;
  bool together = true;  // they all make their next call from the same line
  for (size_t depth = 0; depth < first.size() && together; ++depth) {
    for (const Process* process : processes) {
      const std::vector<FrameVariables>& frames = process->place->variables;
      if (frames.size() <= depth || !SameFunction(frames[depth], first[depth])) return compared;
      together &= frames[depth].frame.line == first[depth].frame.line;
    }
    for (const PythonInteger& integer : first[depth].integers) {
      ComparedVariable variable;
      if (!Compare(processes, depth, integer.name, &variable)) continue;
      variable.counts = std::ranges::all_of(processes, [&](const Process* process) {
        return Counts(trace, process->place->variables[depth], integer.name);
      });
      compared.push_back(std::move(variable));
    }
  }
  std::stable_partition(compared.begin(), compared.end(),
                        [](const ComparedVariable& variable) { return variable.counts; });
  if (compared.size() > kMaxCompared) compared.resize(kMaxCompared);
  return compared;
}

std::string VariableText(const ComparedVariable& variable) {
  std::string text = variable.name + " is ";
  for (size_t i = 0; i < variable.values.size(); ++i) {
    const ComparedVariable::Value& value = variable.values[i];
    const bool last = i + 1 == variable.values.size();
    text += fmt::format("{}{} on {}", i == 0 ? "" : (last ? " and " : ", "), value.value,
                        RanksPhrase(value.ranks));
  }
  return fmt::format("{} ({}, {})", text, variable.function, variable.place);
}

}  // namespace rollcall
