// SPDX-License-Identifier: Apache-2.0
// The rank × sequence matrix of each communicator.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "collector/model/rank_set.h"
#include "collector/page/arrivals.h"
#include "collector/page/panels.h"
#include "collector/report/show_call.h"

namespace rollcall::page {
namespace {

constexpr size_t kMaxCommunicators = 12;
// The window: sequence numbers before and after the divergence.
constexpr uint64_t kBefore = 32;
constexpr uint64_t kAfter = 31;
// Limits for all communicators together.
constexpr size_t kMaxClasses = 256;
constexpr size_t kMaxRuns = 8000;
constexpr size_t kMaxNumbers = 40'000;  // in the lists of members

// data.ts, State.
enum class State : uint8_t { kDone, kInside, kNotThere, kOverwritten, kNoTrace };

// The state and call of a member at one sequence number of the window.
struct Cell {
  State state = State::kNoTrace;
  uint64_t call = 0;  // Calls::KeyOf()
  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of clang-tidy 14
  auto operator<=>(const Cell&) const = default;
};
using Cells = std::vector<Cell>;

// The rest of the limits for all communicators together.
struct Budget {
  size_t classes = kMaxClasses;
  size_t runs = kMaxRuns;
  size_t numbers = kMaxNumbers;
};

struct Class {
  std::vector<int32_t> ranks = {};
  const MemberHistory* example = nullptr;  // nullptr: ranks without a trace
  bool culprit = false;
  bool mixed = false;
};

std::optional<uint64_t> FoundAt(const Report& report, uint32_t communicator) {
  for (const Finding& finding : report.findings) {
    if (finding.communicator == communicator && finding.sequence != 0) return finding.sequence;
  }
  return std::nullopt;
}

// Run lengths: pairs of the first value of a run and the length of the run. `continues(a, b)`: b
// continues the run of a.
template <typename Same>
Json RunLengths(const std::vector<int32_t>& values, bool count_first, Same&& continues) {
  Json pairs = Json::array();
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && continues(values[end - 1], values[end])) ++end;
    const Json count = end - i;
    const Json value = values[i];
    pairs.push_back(count_first ? count : value);
    pairs.push_back(count_first ? value : count);
    i = end;
  }
  return pairs;
}

class Matrix {
 public:
  Matrix(const AlignedTrace& analysis, const CommunicatorHistory& histories,
         std::optional<uint64_t> marked, const Culprits& culprits)
      : analysis_(analysis), histories_(histories), marked_(marked), culprits_(culprits) {
    const uint64_t middle = std::clamp<uint64_t>(marked.value_or(FrontOf(histories)), 1, Highest());
    first_ = std::max(middle > kBefore ? middle - kBefore : 1, std::min(middle, FirstRecorded()));
    count_ = static_cast<size_t>(middle - first_ + 1 + std::min(Highest() - middle, kAfter));
    Classify();
  }

  // Keeps as many classes as the budget allows, classes of culprits and large classes first. The
  // members of the other classes are grouped by their state at the divergence.
  void Limit(Budget* budget) {
    size_t keep = 0;
    size_t runs = 0;
    const size_t states = 5;
    for (; keep < classes_.size() && keep + states < budget->classes; ++keep) {
      runs += count_;
      if (runs > budget->runs) break;
    }
    if (keep < classes_.size()) Merge(keep);
    budget->classes -= std::min(budget->classes, classes_.size());
    budget->runs -= std::min(budget->runs, runs);
  }
  size_t merged() const { return merged_; }

  Json ToJson(int64_t begin_ns, Calls* calls, Budget* budget) const {
    const Communicator& communicator = analysis_.trace.communicators[histories_.communicator];
    const std::vector<int32_t> members = Members(communicator);
    Json json;
    json["name"] = Text(communicator.name);
    json["size"] = members.size();
    json["highest"] = histories_.highest;
    json["first"] = first_;
    json["last"] = first_ + count_ - 1;
    json["marked"] = marked_ ? Json(*marked_) : Json();
    json["classes"] = Json::array();
    for (const Class& one : classes_) json["classes"].push_back(ClassToJson(one, calls));
    AddMembers(members, budget, &json);
    json["arrivals"] = Json::array();
    for (const Arrival& at : ArrivalsAt(histories_, first_, count_)) {
      json["arrivals"].push_back({at.sequence, at.first_ns - begin_ns, at.last_ns - begin_ns,
                                  analysis_.RankOf(at.last_process)});
    }
    return json;
  }

 private:
  uint64_t FirstRecorded() const {
    uint64_t first = Highest();
    for (const MemberHistory& history : histories_.members) {
      if (history.first <= history.last) first = std::min(first, history.first);
    }
    return first;
  }
  uint64_t Highest() const { return std::max<uint64_t>(1, histories_.highest); }

  Cell CellOf(const MemberHistory& history, uint64_t number) const {
    const Event* event = history.At(number);
    if (event == nullptr) {
      return {number > history.entered ? State::kNotThere : State::kOverwritten, 0};
    }
    const bool inside = IsInside(analysis_.trace.processes[history.process], *event);
    return {inside ? State::kInside : State::kDone, Calls::KeyOf(*event)};
  }

  void Classify() {
    std::map<std::pair<bool, Cells>, size_t> known;  // by culprit or not, and cells
    for (const MemberHistory& history : histories_.members) {
      const Process& process = analysis_.trace.processes[history.process];
      const bool culprit = culprits_.contains({process.world, process.rank});
      Cells cells;
      for (size_t i = 0; i < count_; ++i) cells.push_back(CellOf(history, first_ + i));
      const auto [at, is_new] =
          known.emplace(std::pair(culprit, std::move(cells)), classes_.size());
      if (is_new) classes_.push_back({.example = &history, .culprit = culprit});
      classes_[at->second].ranks.push_back(process.rank);
    }
    if (!histories_.absent.empty()) classes_.push_back({.ranks = histories_.absent});
    for (Class& one : classes_) Normalize(&one.ranks);
    std::ranges::stable_sort(classes_, [](const Class& a, const Class& b) {
      return std::tuple(!a.culprit, b.ranks.size()) < std::tuple(!b.culprit, a.ranks.size());
    });
  }

  void Merge(size_t keep) {
    std::map<State, Class> groups;
    for (size_t i = keep; i < classes_.size(); ++i) {
      const Class& one = classes_[i];
      const uint64_t number = marked_.value_or(first_ + count_ - 1);
      const State state =
          one.example == nullptr ? State::kNoTrace : CellOf(*one.example, number).state;
      Class& group = groups[state];
      if (group.example == nullptr) group.example = one.example;
      group.culprit |= one.culprit;
      group.mixed = state != State::kNoTrace;
      group.ranks.insert(group.ranks.end(), one.ranks.begin(), one.ranks.end());
    }
    merged_ = classes_.size() - keep;
    classes_.resize(keep);
    for (auto& [state, group] : groups) {
      Normalize(&group.ranks);
      classes_.push_back(std::move(group));
    }
  }

  Json ClassToJson(const Class& one, Calls* calls) const {
    Json runs = Json::array();
    Cell previous;
    for (size_t i = 0; i < count_; ++i) {
      const uint64_t number = first_ + i;
      const Cell cell = one.example == nullptr ? Cell{} : CellOf(*one.example, number);
      if (i != 0 && cell == previous) {
        runs.back()[1] = runs.back()[1].get<uint64_t>() + 1;
        continue;
      }
      previous = cell;
      const Event* event = one.example == nullptr ? nullptr : one.example->At(number);
      runs.push_back(Json::array({number, 1, static_cast<int>(cell.state),
                                  event == nullptr ? Json() : calls->NumberOf(*event)}));
    }
    return {{"ranks", Ranks(one.ranks)},
            {"culprit", one.culprit},
            {"mixed", one.mixed},
            {"entered", one.example == nullptr ? 0 : one.example->entered},
            {"runs", std::move(runs)}};
  }

  // World ranks by local rank.
  std::vector<int32_t> Members(const Communicator& communicator) const {
    std::vector<int32_t> members = communicator.ranks;
    members.insert(members.end(), communicator.remote_ranks.begin(),
                   communicator.remote_ranks.end());
    if (!members.empty()) return members;
    for (const MemberHistory& history : histories_.members) {
      members.push_back(analysis_.RankOf(history.process));
    }
    members.insert(members.end(), histories_.absent.begin(), histories_.absent.end());
    return members;
  }

  void AddMembers(const std::vector<int32_t>& members, Budget* budget, Json* json) const {
    std::unordered_map<int32_t, int32_t> class_of;
    for (size_t i = 0; i < classes_.size(); ++i) {
      for (const int32_t rank : classes_[i].ranks) class_of[rank] = static_cast<int32_t>(i);
    }
    std::vector<int32_t> classes;
    std::vector<int32_t> ranks;
    for (const int32_t rank : members) {
      const auto at = class_of.find(rank);
      if (at == class_of.end()) continue;
      classes.push_back(at->second);
      ranks.push_back(rank);
    }
    Json of_members = RunLengths(classes, true, [](int32_t a, int32_t b) { return a == b; });
    Json of_ranks = RunLengths(ranks, false, [](int32_t a, int32_t b) { return a + 1 == b; });
    const size_t numbers = of_members.size() + of_ranks.size();
    const bool fits = numbers <= budget->numbers;
    if (fits) budget->numbers -= numbers;
    (*json)["members"] = fits ? std::move(of_members) : Json::array();
    (*json)["ranks"] = fits ? std::move(of_ranks) : Json::array();
  }

  const AlignedTrace& analysis_;
  const CommunicatorHistory& histories_;
  const std::optional<uint64_t> marked_;
  const Culprits& culprits_;
  uint64_t first_ = 1;  // the window of sequence numbers
  size_t count_ = 1;
  std::vector<Class> classes_;
  size_t merged_ = 0;
};

}  // namespace

std::vector<uint32_t> ShownCommunicators(const AlignedTrace& analysis, const Report& report,
                                         std::vector<std::string>* left_out) {
  std::vector<uint32_t> shown;
  for (uint32_t c = 0; c < analysis.histories.size(); ++c) {
    if (analysis.histories[c].highest != 0) shown.push_back(c);
  }
  const auto order = [&](uint32_t c) {
    size_t finding = 0;
    while (finding < report.findings.size() && report.findings[finding].communicator != c) {
      ++finding;
    }
    const CommunicatorHistory& histories = analysis.histories[c];
    const bool even = std::ranges::all_of(histories.members, [&](const MemberHistory& one) {
      return one.entered == histories.highest;
    });
    return std::tuple(finding, even, -static_cast<int64_t>(histories.members.size()), c);
  };
  std::map<uint32_t, decltype(order(0))> orders;
  for (const uint32_t c : shown) orders.emplace(c, order(c));
  std::ranges::sort(shown, [&](uint32_t a, uint32_t b) { return orders.at(a) < orders.at(b); });
  if (shown.size() > kMaxCommunicators) {
    left_out->push_back(
        fmt::format("the collectives of {} communicators", shown.size() - kMaxCommunicators));
    shown.resize(kMaxCommunicators);
  }
  return shown;
}

Json Communicators(const AlignedTrace& analysis, const Report& report,
                   const std::vector<uint32_t>& shown, int64_t begin_ns, Calls* calls,
                   std::vector<std::string>* left_out) {
  const Culprits culprits = CulpritsOf(report);
  Budget budget;
  Json communicators = Json::array();
  for (const uint32_t c : shown) {
    Matrix matrix(analysis, analysis.histories[c], FoundAt(report, c), culprits);
    matrix.Limit(&budget);
    communicators.push_back(matrix.ToJson(begin_ns, calls, &budget));
    const std::string& name = analysis.CommunicatorName(c);
    if (matrix.merged() != 0) {
      left_out->push_back(fmt::format("{} classes of ranks on {}: they are merged by their state",
                                      matrix.merged(), Text(name)));
    }
    if (communicators.back()["members"].empty()) {
      left_out->push_back(fmt::format("which class each rank of {} is in", Text(name)));
    }
  }
  return communicators;
}

}  // namespace rollcall::page
