// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

constexpr size_t kMaxGroups = 4;  // in a text; JSON has all

// The values of one name on the ranks of a finding.
struct Named {
  std::vector<std::pair<int32_t, const NamedValues*>> by_rank;  // by increasing rank
  bool of_culprit = false;
  bool of_other = false;
};

const RecordedValue& ValueAt(const NamedValues& values, uint64_t number) {
  return values.recent[number - values.recent.front().number];
}

bool DiffersAt(const Named& named, uint64_t number) {
  const RecordedValue& first = ValueAt(*named.by_rank.front().second, number);
  return std::ranges::any_of(named.by_rank, [&](const auto& rank) {
    return !ValueAt(*rank.second, number).Equals(first);
  });
}

// A value that is different on every rank says nothing about the branch: a rank number, a host, an
// address, a local sum.
bool DiffersByNature(const ComparedValue& value, const Named& named) {
  return value.groups.size() == named.by_rank.size() && named.by_rank.size() > 2;
}

// Whether no culprit has a value that another rank has.
bool Separates(const ComparedValue& value, const std::vector<int32_t>& culprits) {
  return !culprits.empty() && std::ranges::all_of(value.groups, [&](const auto& group) {
    const auto is_culprit = [&](int32_t rank) {
      return std::ranges::binary_search(culprits, rank);
    };
    return std::ranges::all_of(group.ranks, is_culprit) ||
           std::ranges::none_of(group.ranks, is_culprit);
  });
}

class Comparison {
 public:
  Comparison(const Analysis& analysis, const Finding& finding)
      : analysis_(analysis), finding_(finding) {}

  std::vector<ComparedValue> Compare() {
    std::vector<std::pair<std::tuple<bool, bool, bool>, ComparedValue>> found;
    for (const auto& [name, named] : FindNames()) {
      ComparedValue value;
      value.name = name;
      if (!FindDifference(named, &value)) continue;
      std::tuple order(DiffersByNature(value, named), !Separates(value, finding_.culprits),
                       value.before == ComparedValue::Before::kUnknown);
      found.emplace_back(order, std::move(value));
    }
    std::ranges::stable_sort(found, {}, [](const auto& entry) { return entry.first; });
    std::vector<ComparedValue> values;
    values.reserve(found.size());
    for (auto& entry : found) values.push_back(std::move(entry.second));
    return values;
  }

 private:
  std::map<std::string_view, Named> FindNames() const {
    const Trace& trace = analysis_.trace;
    std::map<std::string_view, Named> names;
    for (const int32_t rank : RanksOf(finding_)) {
      const uint32_t process = ProcessOf(trace, finding_.world, rank);
      if (process == kNoIndex) continue;
      const bool culprit = std::ranges::binary_search(finding_.culprits, rank);
      for (const NamedValues& values : trace.processes[process].values) {
        if (values.recent.empty()) continue;
        Named& named = names[values.name];
        named.by_rank.emplace_back(rank, &values);
        (culprit ? named.of_culprit : named.of_other) = true;
      }
    }
    return names;
  }

  bool FindDifference(const Named& named, ComparedValue* value) const {
    if (named.by_rank.size() < 2) return false;
    if (!finding_.culprits.empty() && !(named.of_culprit && named.of_other)) return false;
    uint64_t first = 1;  // the numbers that are on record on all of these ranks
    uint64_t last = UINT64_MAX;
    for (const auto& [rank, values] : named.by_rank) {
      first = std::max(first, values->recent.front().number);
      last = std::min(last, values->recent.back().number);
      value->repeated |= values->recent.back().number > 1;
    }
    for (value->number = first; value->number <= last; ++value->number) {
      if (!DiffersAt(named, value->number)) continue;
      using Before = ComparedValue::Before;
      value->before = value->number == 1      ? Before::kNone
                      : value->number > first ? Before::kEqual
                                              : Before::kUnknown;
      AddGroups(named, value);
      return true;
    }
    return false;
  }

  void AddGroups(const Named& named, ComparedValue* value) const {
    std::map<std::pair<std::string, std::string>, ComparedValue::Group> groups;
    for (const auto& [rank, values] : named.by_rank) {
      const RecordedValue& recorded = ValueAt(*values, value->number);
      SourceFrame frame = recorded.call_path == kNoIndex
                              ? SourceFrame{}
                              : analysis_.sites.UserFrame(recorded.call_path);
      ComparedValue::Group& group = groups[{recorded.Text(), PlaceText(frame)}];
      group.text = recorded.Text();
      group.frame = std::move(frame);
      group.ranks.push_back(rank);
    }
    for (auto& [key, group] : groups) value->groups.push_back(std::move(group));
    std::ranges::stable_sort(value->groups, {}, [&](const ComparedValue::Group& group) {
      const bool culprit = std::ranges::binary_search(finding_.culprits, group.ranks.front());
      return std::tuple(!culprit, -static_cast<int64_t>(group.ranks.size()));
    });
  }

  const Analysis& analysis_;
  const Finding& finding_;
};

}  // namespace

void AddValues(const Analysis& analysis, Finding* finding) {
  if (KindSeverity(finding->kind) == Severity::kNote) return;
  finding->values = Comparison(analysis, *finding).Compare();
}

std::string ValueText(const ComparedValue& value) {
  const std::string place = PlaceText(value.groups.front().frame);
  const bool one_place = std::ranges::all_of(
      value.groups, [&](const auto& group) { return PlaceText(group.frame) == place; });
  std::string text = value.name;
  if (value.repeated) text += fmt::format(" #{}", value.number);
  text += " is ";
  const size_t shown = std::min(value.groups.size(), kMaxGroups);
  for (size_t i = 0; i < shown; ++i) {
    const ComparedValue::Group& group = value.groups[i];
    const bool last = i + 1 == value.groups.size();
    text += fmt::format("{}{} on {}", i == 0 ? "" : (last ? " and " : ", "), group.text,
                        RanksPhrase(group.ranks));
    if (!one_place) text += fmt::format(" ({})", PlaceText(group.frame));
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
