// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/model/words.h"

namespace rollcall {
namespace {

constexpr size_t kMaxGroups = 4;  // in a text; JSON has all

// A value that is different on every rank says nothing about the branch: a rank number, a host, an
// address, a local sum.
bool DiffersByNature(const ComparedValue& value) {
  return value.groups.size() > 2 && std::ranges::all_of(value.groups, [](const auto& group) {
           return group.ranks.size() == 1;
         });
}

// Returns whether no culprit has a value that another rank has.
bool Separates(const ComparedValue& value, const std::vector<int32_t>& culprits) {
  const auto is_culprit = [&](int32_t rank) { return std::ranges::binary_search(culprits, rank); };
  return !culprits.empty() && std::ranges::all_of(value.groups, [&](const auto& group) {
    return std::ranges::all_of(group.ranks, is_culprit) ||
           std::ranges::none_of(group.ranks, is_culprit);
  });
}

// Groups the ranks of one value. Ranks are added in increasing order.
class Grouping {
 public:
  // Ranks with the same text and `place` share a group.
  void Add(int32_t rank, std::string text, std::string place, SourceFrame frame) {
    ComparedValue::Group& group = groups_[{text, std::move(place)}];
    group.text = std::move(text);
    group.frame = std::move(frame);
    group.ranks.push_back(rank);
  }
  // The culprits' groups first, then larger ones.
  std::vector<ComparedValue::Group> Take(const std::vector<int32_t>& culprits) {
    std::vector<ComparedValue::Group> all;
    for (auto& [key, group] : groups_) all.push_back(std::move(group));
    std::ranges::stable_sort(all, {}, [&](const ComparedValue::Group& group) {
      const bool culprit = std::ranges::binary_search(culprits, group.ranks.front());
      return std::tuple(!culprit, -static_cast<int64_t>(group.ranks.size()));
    });
    return all;
  }

 private:
  std::map<std::pair<std::string, std::string>, ComparedValue::Group> groups_;
};

const RecordedValue& ValueAt(const NamedValues& values, uint64_t number) {
  return values.recent[number - values.recent.front().number];
}

class Comparison {
 public:
  Comparison(const Analysis& analysis, const Finding& finding)
      : analysis_(analysis), finding_(finding) {
    for (const int32_t rank : RanksOf(finding)) {
      const uint32_t process = ProcessOf(analysis.trace, finding.world, rank);
      if (process != kNoIndex) processes_.emplace_back(rank, &analysis.trace.processes[process]);
    }
  }

  std::vector<ComparedValue> Recorded() const {
    std::map<std::string_view, Named> names;
    for (const auto& [rank, process] : processes_) {
      for (const NamedValues& values : process->values) {
        if (!values.recent.empty()) names[values.name].emplace_back(rank, &values);
      }
    }
    std::vector<ComparedValue> found;
    for (const auto& [name, named] : names) {
      ComparedValue value;
      value.name = name;
      if (FindDifference(named, &value)) found.push_back(std::move(value));
    }
    return InOrder(std::move(found));
  }

  // Compares the variables of the frames that all ranks reached by the same path; those of the
  // innermost frame come first. The values are those that the variables have now. They explain
  // nothing if a culprit has made further calls since the ranks parted.
  std::vector<ComparedValue> Variables() const {
    Read read;
    for (const auto& [rank, process] : processes_) {
      if (!process->variables.empty()) read.emplace_back(rank, process);
    }
    std::vector<ComparedValue> found;
    if (!HasBothSides(read) || CulpritsWentFurther(read)) return found;
    const std::vector<VariablesOfFrame>& first = read.front().second->variables;
    bool together = true;  // they make their next call from the same line
    for (size_t depth = 0; depth < first.size() && together; ++depth) {
      for (const auto& [rank, process] : read) {
        const std::vector<VariablesOfFrame>& frames = process->variables;
        if (frames.size() <= depth || !SameFunction(frames[depth].frame, first[depth].frame)) {
          return InOrder(std::move(found));
        }
        together &= frames[depth].frame.line == first[depth].frame.line;
      }
      const std::string conditions = together ? "" : ConditionsBetween(read, depth);
      std::vector<ComparedValue> of_frame;
      for (const Variable& variable : first[depth].variables) {
        CompareVariable(read, depth, variable.name, &of_frame);
      }
      for (ComparedValue& value : of_frame) {
        value.decides = AnyWord(conditions, value.name, [](size_t) { return true; });
      }
      std::erase_if(of_frame,
                    [](const ComparedValue& value) { return value.unsettled && !value.decides; });
      // An argument differs in the caller, too.
      std::erase_if(found, [&](const ComparedValue& outer) {
        return std::ranges::any_of(of_frame, [&](const ComparedValue& inner) {
          return inner.name == outer.name && SameGroups(inner, outer);
        });
      });
      found.insert(found.begin(), of_frame.begin(), of_frame.end());
    }
    return InOrder(std::move(found));
  }

 private:
  using Named = std::vector<std::pair<int32_t, const NamedValues*>>;  // by increasing rank
  using Read = std::vector<std::pair<int32_t, const Process*>>;       // by increasing rank

  bool IsCulprit(int32_t rank) const { return std::ranges::binary_search(finding_.culprits, rank); }

  // Returns whether there are several ranks. If the finding has culprits, both a culprit and
  // another rank must be among them.
  template <typename T>
  bool HasBothSides(const std::vector<std::pair<int32_t, T>>& ranks) const {
    if (finding_.culprits.empty()) return ranks.size() > 1;
    const auto culprit = [this](const auto& rank) { return IsCulprit(rank.first); };
    return std::ranges::any_of(ranks, culprit) && !std::ranges::all_of(ranks, culprit);
  }

  std::vector<ComparedValue> InOrder(std::vector<ComparedValue> values) const {
    std::ranges::stable_sort(values, {}, [this](const ComparedValue& value) {
      return std::tuple(!value.decides, DiffersByNature(value),
                        !Separates(value, finding_.culprits),
                        value.before == ComparedValue::Before::kUnknown);
    });
    return values;
  }

  bool FindDifference(const Named& named, ComparedValue* value) const {
    if (!HasBothSides(named)) return false;
    uint64_t first = 1;  // the numbers that are on record on all of these ranks
    uint64_t last = UINT64_MAX;
    for (const auto& [rank, values] : named) {
      first = std::max(first, values->recent.front().number);
      last = std::min(last, values->recent.back().number);
      value->repeated |= values->recent.back().number > 1;
    }
    for (value->number = first; value->number <= last; ++value->number) {
      const RecordedValue& one = ValueAt(*named.front().second, value->number);
      const auto equal = [&](const auto& rank) {
        return ValueAt(*rank.second, value->number).Equals(one);
      };
      if (std::ranges::all_of(named, equal)) continue;
      using Before = ComparedValue::Before;
      value->before = value->number == 1      ? Before::kNone
                      : value->number > first ? Before::kEqual
                                              : Before::kUnknown;
      Grouping groups;
      for (const auto& [rank, values] : named) {
        const RecordedValue& recorded = ValueAt(*values, value->number);
        SourceFrame frame = analysis_.sites.UserFrame(recorded.call_path);
        const std::string place = PlaceText(frame);
        groups.Add(rank, recorded.Text(), place, std::move(frame));
      }
      value->groups = groups.Take(finding_.culprits);
      return true;
    }
    return false;
  }

  // The conditions of the branches of which not all ranks are in the same arm, and those of exits
  // from the function in which the ranks part.
  std::string ConditionsBetween(const Read& read, size_t depth) const {
    const auto line_of = [&](const auto& rank) { return rank.second->variables[depth].frame.line; };
    std::string text;
    for (const SourceBlocks& source : analysis_.trace.sources) {
      if (source.file != read.front().second->variables[depth].frame.file) continue;
      const auto all_in = [&](const auto& lines) {
        return std::ranges::all_of(read,
                                   [&](const auto& rank) { return lines.Holds(line_of(rank)); });
      };
      const auto any_in = [&](const auto& lines) {
        return std::ranges::any_of(read,
                                   [&](const auto& rank) { return lines.Holds(line_of(rank)); });
      };
      for (const SourceBlock& block : source.blocks) {
        const bool parts = block.kind == SourceBlock::Kind::kArm && any_in(block) && !all_in(block);
        if (parts && block.branch < source.conditions.size()) {
          text += source.conditions[block.branch] + ' ';
        }
      }
      const SourceFlow* function = FunctionAround(source.flow, line_of(read.front()));
      for (const SourceFlow& exit : source.flow) {
        if (function != nullptr && function->Holds(exit.first)) text += exit.condition + ' ';
      }
    }
    return text;
  }

  static bool SameGroups(const ComparedValue& a, const ComparedValue& b) {
    return std::ranges::equal(a.groups, b.groups, [](const auto& one, const auto& other) {
      return one.text == other.text && one.ranks == other.ranks;
    });
  }

  static bool SameFunction(const SourceFrame& a, const SourceFrame& b) {
    return a.function == b.function && a.file == b.file;
  }

  bool CulpritsWentFurther(const Read& read) const {
    if (finding_.communicator == kNoIndex || finding_.sequence == 0) return false;
    return std::ranges::any_of(read, [&](const auto& rank) {
      if (!IsCulprit(rank.first)) return false;
      const auto index = static_cast<uint32_t>(rank.second - analysis_.trace.processes.data());
      const MemberHistory* history = analysis_.HistoryOf(finding_.communicator, index);
      return history != nullptr && history->entered > finding_.sequence;
    });
  }

  // Appends the variable if all ranks have it, it differs, and it is not the rank's number.
  void CompareVariable(const Read& read, size_t depth, const std::string& name,
                       std::vector<ComparedValue>* found) const {
    Grouping groups;
    bool is_rank = true;
    bool unsettled = false;
    for (const auto& [rank, process] : read) {
      const VariablesOfFrame& frame = process->variables[depth];
      const auto variable = std::ranges::find(frame.variables, name, &Variable::name);
      if (variable == frame.variables.end()) return;
      is_rank &= variable->kind == Variable::Kind::kInteger &&
                 static_cast<int64_t>(variable->bits) == rank;
      unsettled |= variable->unsettled;
      groups.Add(rank, variable->Text(frame.frame.language), "", frame.frame);
    }
    ComparedValue value{
        .name = name, .unsettled = unsettled, .groups = groups.Take(finding_.culprits)};
    if (!is_rank && value.groups.size() > 1) found->push_back(std::move(value));
  }

  const Analysis& analysis_;
  const Finding& finding_;
  std::vector<std::pair<int32_t, const Process*>> processes_;  // by increasing rank
};

}  // namespace

void AddValues(const Analysis& analysis, Finding* finding) {
  if (KindSeverity(finding->kind) == Severity::kNote) return;
  const Comparison comparison(analysis, *finding);
  finding->values = comparison.Recorded();
  // A program usually records a variable by its name.
  const size_t recorded = finding->values.size();
  for (ComparedValue& variable : comparison.Variables()) {
    const auto end = finding->values.begin() + static_cast<ptrdiff_t>(recorded);
    const bool known =
        std::ranges::find(finding->values.begin(), end, variable.name, &ComparedValue::name) != end;
    if (!known) finding->values.push_back(std::move(variable));
  }
}

std::string ValueText(const ComparedValue& value) {
  const auto place_of = [&value](const ComparedValue::Group& group) {
    if (value.number == 0) return "in " + FunctionText(group.frame);
    return PlaceText(group.frame);
  };
  const std::string place = place_of(value.groups.front());
  const bool one_place = std::ranges::all_of(
      value.groups, [&](const auto& group) { return place_of(group) == place; });
  std::string text = value.name;
  if (value.repeated) text += fmt::format(" #{}", value.number);
  text += " is ";
  const size_t shown = std::min(value.groups.size(), kMaxGroups);
  for (size_t i = 0; i < shown; ++i) {
    const ComparedValue::Group& group = value.groups[i];
    const bool last = i + 1 == value.groups.size();
    text += fmt::format("{}{} on {}", i == 0 ? "" : (last ? " and " : ", "), group.text,
                        RanksPhrase(group.ranks));
    if (!one_place) text += fmt::format(" ({})", place_of(group));
  }
  if (value.groups.size() > shown) {
    size_t ranks = 0;
    for (size_t i = shown; i < value.groups.size(); ++i) ranks += value.groups[i].ranks.size();
    text += fmt::format(", and {} on {}", CountText(value.groups.size() - shown, "other value"),
                        CountText(ranks, "rank"));
  }
  std::string remarks = one_place ? place : "";
  const auto remark = [&](std::string words) {
    remarks += (remarks.empty() ? "" : "; ") + std::move(words);
  };
  if (value.before == ComparedValue::Before::kEqual) {
    remark(fmt::format("#{} is equal", value.number - 1));
  } else if (value.before == ComparedValue::Before::kUnknown) {
    remark("earlier ones may differ, too");
  }
  return remarks.empty() ? text : fmt::format("{} ({})", text, remarks);
}

}  // namespace rollcall
