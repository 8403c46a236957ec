// SPDX-License-Identifier: Apache-2.0
// Shows the call of each rank at each sequence number of a communicator.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "collector/model/rank_set.h"
#include "collector/report/columns.h"
#include "collector/report/show.h"
#include "collector/report/show_call.h"

namespace rollcall {
namespace {

// Further communicators are only counted; --communicator shows one.
constexpr size_t kMaxCommunicators = 8;

class Table {
 public:
  Table(const AlignedTrace& analysis, const CommunicatorHistory& histories, uint64_t marked,
        uint64_t around)
      : analysis_(analysis),
        histories_(histories),
        marked_(std::clamp<uint64_t>(marked, 1, Highest())) {
    const uint64_t first = marked_ > around ? marked_ - around : 1;
    const uint64_t last = std::min(Highest(), marked_ + std::min(around, Highest()));
    for (uint64_t number = first; number <= last; ++number) AddNumber(number);
  }

  std::string Text() const {
    const Communicator& communicator = analysis_.trace.communicators[histories_.communicator];
    const size_t members = std::max(communicator.ranks.size() + communicator.remote_ranks.size(),
                                    histories_.members.size() + histories_.absent.size());
    std::string text =
        fmt::format("{} · {} · {}\n\n", communicator.name, CountText(members, "rank"),
                    CountText(histories_.highest, "collective"));
    const std::vector<std::string> lines = AlignColumns(rows_);
    for (size_t i = 0; i < lines.size(); ++i) {
      text += fmt::format("  {} {}\n", rows_[i][0] == Name(marked_) ? "▸" : " ", lines[i]);
    }
    return text;
  }

 private:
  // The action of ranks at one sequence number.
  struct Doing {
    std::string state;
    std::string call;
    std::string place;
    std::string function;
    // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of clang-tidy 14
    auto operator<=>(const Doing&) const = default;
  };

  uint64_t Highest() const { return std::max<uint64_t>(1, histories_.highest); }
  static std::string Name(uint64_t number) { return fmt::format("#{}", number); }

  Doing DoingOf(const MemberHistory& history, uint64_t number) const {
    const Event* event = history.At(number);
    if (event == nullptr) {
      return {number > history.entered ? "not there" : "overwritten", "", "", ""};
    }
    const bool inside = IsInside(analysis_.trace.processes[history.process], *event);
    return {inside ? "inside" : "", ShownCall(analysis_, *event, /*numbered=*/false),
            ShownPlace(analysis_, *event), ShownFunction(analysis_, *event)};
  }

  void AddNumber(uint64_t number) {
    std::map<Doing, std::vector<int32_t>> ranks;
    for (const MemberHistory& history : histories_.members) {
      ranks[DoingOf(history, number)].push_back(analysis_.RankOf(history.process));
    }
    if (!histories_.absent.empty()) ranks[{"no trace", "", "", ""}] = histories_.absent;
    std::vector<std::pair<std::vector<int32_t>, Doing>> rows;
    for (auto& [doing, of] : ranks) {
      Normalize(&of);
      rows.emplace_back(of, doing);
    }
    std::ranges::sort(rows);  // by the lowest rank
    std::string name = Name(number);
    for (const auto& [of, doing] : rows) {
      rows_.push_back(
          {name, RanksPhrase(of), doing.state, doing.call, doing.place, doing.function});
      name.clear();
    }
  }

  const AlignedTrace& analysis_;
  const CommunicatorHistory& histories_;
  const uint64_t marked_;
  std::vector<std::vector<std::string>> rows_;
};

bool IsUneven(const AlignedTrace& analysis, const CommunicatorHistory& histories) {
  for (const MemberHistory& history : histories.members) {
    if (history.entered != histories.highest) return true;
    const Event* last = history.At(history.entered);
    if (last != nullptr && IsInside(analysis.trace.processes[history.process], *last)) return true;
  }
  return false;
}

// The sequence number of the first finding on each communicator.
std::map<uint32_t, uint64_t> FoundAt(const Report& report) {
  std::map<uint32_t, uint64_t> found;
  for (const Finding& finding : report.findings) {
    if (finding.communicator != kNoIndex && finding.sequence != 0) {
      found.emplace(finding.communicator, finding.sequence);
    }
  }
  return found;
}

std::vector<uint32_t> Chosen(const AlignedTrace& analysis,
                             const std::map<uint32_t, uint64_t>& found, const std::string& name) {
  const auto those = [&analysis](auto&& wanted) {
    std::vector<uint32_t> chosen;
    for (uint32_t c = 0; c < analysis.histories.size(); ++c) {
      const CommunicatorHistory& histories = analysis.histories[c];
      if (histories.highest != 0 && wanted(c, histories)) chosen.push_back(c);
    }
    return chosen;
  };
  if (!name.empty()) {
    auto exact = those([&](uint32_t c, const CommunicatorHistory&) {
      return analysis.CommunicatorName(c) == name;
    });
    if (!exact.empty()) return exact;
    return those([&](uint32_t c, const CommunicatorHistory&) {
      return analysis.CommunicatorName(c).find(name) != std::string::npos;
    });
  }
  if (!found.empty()) {
    return those([&](uint32_t c, const CommunicatorHistory&) { return found.contains(c); });
  }
  const auto uneven = those([&](uint32_t, const CommunicatorHistory& histories) {
    return IsUneven(analysis, histories);
  });
  return uneven.empty() ? those([](uint32_t, const CommunicatorHistory&) { return true; }) : uneven;
}

}  // namespace

Shown ShowTable(const AlignedTrace& analysis, const Report& report, const TableOptions& options) {
  const std::map<uint32_t, uint64_t> found = FoundAt(report);
  const std::vector<uint32_t> chosen = Chosen(analysis, found, options.communicator);
  if (chosen.empty()) {
    return {"", options.communicator.empty()
                    ? "no collective is recorded"
                    : fmt::format("no communicator with collectives is called '{}'",
                                  options.communicator)};
  }
  Shown shown;
  for (size_t i = 0; i < std::min(chosen.size(), kMaxCommunicators); ++i) {
    const CommunicatorHistory& histories = analysis.histories[chosen[i]];
    uint64_t number = options.sequence;
    if (number > histories.highest && chosen.size() == 1) {
      return {"", fmt::format("{} has {} collectives", analysis.CommunicatorName(chosen[i]),
                              histories.highest)};
    }
    if (number == 0) {
      const auto at = found.find(chosen[i]);
      number = at != found.end() ? at->second : FrontOf(histories);
    }
    if (i != 0) shown.text += '\n';
    shown.text += Table(analysis, histories, number, options.around).Text();
  }
  if (chosen.size() > kMaxCommunicators) {
    shown.text += fmt::format("\n… and {} more communicators: --communicator NAME shows one\n",
                              chosen.size() - kMaxCommunicators);
  }
  return shown;
}

}  // namespace rollcall
