// A communicator's numbers, and what every rank called under each.
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

// More are only counted; a person names one then.
constexpr size_t kMaxCommunicators = 8;

class Table {
 public:
  Table(const AlignedTrace& analysis, const Lanes& lanes, uint64_t marked, uint64_t around)
      : analysis_(analysis), lanes_(lanes), marked_(std::clamp<uint64_t>(marked, 1, Highest())) {
    const uint64_t first = marked_ > around ? marked_ - around : 1;
    const uint64_t last = std::min(Highest(), marked_ + std::min(around, Highest()));
    for (uint64_t number = first; number <= last; ++number) AddNumber(number);
  }

  std::string Text() const {
    const Communicator& communicator = analysis_.trace.communicators[lanes_.communicator];
    const size_t members =
        std::max(communicator.members.size() + communicator.remote_members.size(),
                 lanes_.lanes.size() + lanes_.absent.size());
    std::string text =
        fmt::format("{} · {} rank{} · {} collective{}\n\n", communicator.name, members,
                    members == 1 ? "" : "s", lanes_.highest, lanes_.highest == 1 ? "" : "s");
    const std::vector<std::string> lines = AlignColumns(rows_);
    for (size_t i = 0; i < lines.size(); ++i) {
      text += fmt::format("  {} {}\n", rows_[i][0] == Name(marked_) ? "▸" : " ", lines[i]);
    }
    return text;
  }

 private:
  // What ranks did under one number.
  struct Doing {
    std::string state;
    std::string call;
    std::string place;
    std::string function;
    auto operator<=>(const Doing&) const = default;
  };

  uint64_t Highest() const { return std::max<uint64_t>(1, lanes_.highest); }
  static std::string Name(uint64_t number) { return fmt::format("#{}", number); }

  Doing DoingOf(const Lane& lane, uint64_t number) const {
    const Event* event = lane.At(number);
    if (event == nullptr) {
      return {number > lane.entered ? "not there" : "not recorded any more", "", "", ""};
    }
    const bool inside = IsInside(analysis_.trace.processes[lane.process], *event);
    return {inside ? "inside" : "", ShownCall(analysis_, *event, /*numbered=*/false),
            ShownPlace(analysis_, *event), ShownFunction(analysis_, *event)};
  }

  void AddNumber(uint64_t number) {
    std::map<Doing, std::vector<int32_t>> ranks;
    for (const Lane& lane : lanes_.lanes) {
      ranks[DoingOf(lane, number)].push_back(analysis_.RankOf(lane.process));
    }
    if (!lanes_.absent.empty()) ranks[{"no trace", "", "", ""}] = lanes_.absent;
    std::vector<std::pair<std::vector<int32_t>, Doing>> rows;
    for (auto& [doing, of] : ranks) {
      Normalize(&of);
      rows.emplace_back(of, doing);
    }
    std::sort(rows.begin(), rows.end());  // by the lowest rank
    std::string name = Name(number);
    for (const auto& [of, doing] : rows) {
      rows_.push_back(
          {name, RanksPhrase(of), doing.state, doing.call, doing.place, doing.function});
      name.clear();
    }
  }

  const AlignedTrace& analysis_;
  const Lanes& lanes_;
  const uint64_t marked_;
  std::vector<std::vector<std::string>> rows_;
};

// Where its ranks are: the number that not all have entered, else the last one.
uint64_t Front(const Lanes& lanes) {
  uint64_t least = lanes.highest;
  for (const Lane& lane : lanes.lanes) least = std::min(least, lane.entered);
  return std::min(least + 1, lanes.highest);
}

bool IsUneven(const AlignedTrace& analysis, const Lanes& lanes) {
  for (const Lane& lane : lanes.lanes) {
    if (lane.entered != lanes.highest) return true;
    const Event* last = lane.At(lane.entered);
    if (last != nullptr && IsInside(analysis.trace.processes[lane.process], *last)) return true;
  }
  return false;
}

// By communicator: the number of the first finding on it.
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
    for (uint32_t c = 0; c < analysis.lanes.size(); ++c) {
      const Lanes& lanes = analysis.lanes[c];
      if (lanes.highest != 0 && wanted(c, lanes)) chosen.push_back(c);
    }
    return chosen;
  };
  if (!name.empty()) {
    const auto exact =
        those([&](uint32_t c, const Lanes&) { return analysis.CommunicatorName(c) == name; });
    if (!exact.empty()) return exact;
    return those([&](uint32_t c, const Lanes&) {
      return analysis.CommunicatorName(c).find(name) != std::string::npos;
    });
  }
  if (!found.empty()) {
    return those([&](uint32_t c, const Lanes&) { return found.contains(c); });
  }
  const auto uneven =
      those([&](uint32_t, const Lanes& lanes) { return IsUneven(analysis, lanes); });
  return uneven.empty() ? those([](uint32_t, const Lanes&) { return true; }) : uneven;
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
    const Lanes& lanes = analysis.lanes[chosen[i]];
    uint64_t number = options.sequence;
    if (number > lanes.highest && chosen.size() == 1) {
      return {"", fmt::format("{} has {} collectives", analysis.CommunicatorName(chosen[i]),
                              lanes.highest)};
    }
    if (number == 0) {
      const auto at = found.find(chosen[i]);
      number = at != found.end() ? at->second : Front(lanes);
    }
    if (i != 0) shown.text += '\n';
    shown.text += Table(analysis, lanes, number, options.around).Text();
  }
  if (chosen.size() > kMaxCommunicators) {
    shown.text += fmt::format("\n… and {} more communicators: --communicator NAME shows one\n",
                              chosen.size() - kMaxCommunicators);
  }
  return shown;
}

}  // namespace rollcall
