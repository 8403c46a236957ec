// SPDX-License-Identifier: Apache-2.0
// Shows the calls and threads of one rank, and the calls of two ranks side by side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "collector/diagnosis/wording/call_text.h"
#include "collector/report/columns.h"
#include "collector/report/show.h"
#include "collector/report/show_call.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

std::string DurationOr(int64_t from_ns, int64_t to_ns) {
  if (from_ns == kNoTime || to_ns == kNoTime || to_ns < from_ns) return {};
  const auto ns = static_cast<double>(to_ns - from_ns);
  if (ns < 1e6) return fmt::format("{:.1f} µs", ns * 1e-3);
  return ns < 1e9 ? fmt::format("{:.1f} ms", ns * 1e-6) : fmt::format("{:.2f} s", ns * 1e-9);
}

std::string ProcessText(const Process& process) {
  std::string text = fmt::format("rank {}", process.rank);
  if (!process.host.empty()) text += " on " + process.host;
  if (process.pid != 0) text += fmt::format(", pid {}", process.pid);
  return text;
}

// "thread 4711 (loader), sleeping in read, 0% CPU"
std::string ThreadText(const LiveStack& thread) {
  std::string text = fmt::format("thread {}", thread.tid);
  if (!thread.thread_name.empty()) text += fmt::format(" ({})", thread.thread_name);
  if (!thread.state.empty()) text += ", " + thread.state;
  if (CpuPercent(thread) >= 0) text += fmt::format(", {}% CPU", CpuPercent(thread));
  if (!thread.unreadable.empty()) text += ": no stack: " + thread.unreadable;
  return text;
}

// Two lists of calls and their first difference.
class RankDifference {
 public:
  RankDifference(const AlignedTrace& analysis, uint32_t left, uint32_t right)
      : analysis_(analysis), process_{left, right} {
    for (int side = 0; side < 2; ++side) calls_[side] = analysis.Timeline(process_[side]);
    FindShared();
    FindBegin();
    while (begin_[0] + same_ < calls_[0].size() && begin_[1] + same_ < calls_[1].size() &&
           IsSame(*calls_[0][begin_[0] + same_], *calls_[1][begin_[1] + same_])) {
      ++same_;
    }
  }

  CallDifference Compare(size_t around) {
    CallDifference difference;
    difference.left = ProcessText(Of(0));
    difference.right = ProcessText(Of(1));
    for (const int side : {0, 1}) {
      if (begin_[side] == 0) continue;
      difference.notes.push_back(fmt::format(
          "{} earlier calls of rank {} are left out: those of the other rank are overwritten",
          begin_[side], Of(side).rank));
    }
    const bool differ =
        begin_[0] + same_ < calls_[0].size() || begin_[1] + same_ < calls_[1].size();
    const char* calls = same_ == 1 ? "call" : "calls";
    difference.notes.push_back(differ
                                   ? fmt::format("the same {} {}, then they differ", same_, calls)
                                   : fmt::format("no difference in {} {}", same_, calls));
    const size_t from = same_ - std::min(same_, around);
    for (size_t i = from; i < same_; ++i) AddRow(At(0, i), At(1, i));
    difference.first = rows_.size();
    if (differ) AddRowsAfter(2 * around);
    difference.rows = std::move(rows_);
    return difference;
  }

 private:
  const Process& Of(int side) const { return analysis_.trace.processes[process_[side]]; }
  const Event* At(int side, size_t i) const {
    const size_t index = begin_[side] + i;
    return index < calls_[side].size() ? calls_[side][index] : nullptr;
  }
  uint32_t CommunicatorOf(const Event& event) const {
    return event.member == kNoIndex ? kNoIndex : analysis_.trace.members[event.member].communicator;
  }

  void FindShared() {
    for (const CommunicatorHistory& histories : analysis_.histories) {
      const MemberHistory* left = analysis_.HistoryOf(histories.communicator, process_[0]);
      const MemberHistory* right = analysis_.HistoryOf(histories.communicator, process_[1]);
      if (left != nullptr && right != nullptr) shared_.push_back(histories.communicator);
    }
  }
  bool IsShared(uint32_t communicator) const {
    return std::ranges::binary_search(shared_, communicator);
  }

  // Rings reach back to different times, so both lists begin at the first collective that both
  // rings hold.
  void FindBegin() {
    std::optional<std::pair<size_t, size_t>> best;
    for (const uint32_t communicator : shared_) {
      const MemberHistory* left = analysis_.HistoryOf(communicator, process_[0]);
      const MemberHistory* right = analysis_.HistoryOf(communicator, process_[1]);
      const uint64_t number = std::max(left->first, right->first);
      const Event* of_left = left->At(number);
      const Event* of_right = right->At(number);
      if (of_left == nullptr || of_right == nullptr) continue;
      const auto place = [](const std::vector<const Event*>& calls, const Event* event) {
        return static_cast<size_t>(std::ranges::find(calls, event) - calls.begin());
      };
      const std::pair at(place(calls_[0], of_left), place(calls_[1], of_right));
      if (!best || at.first + at.second < best->first + best->second) best = at;
    }
    if (!best) return;
    // Include equal calls directly before this collective.
    begin_ = {best->first, best->second};
    while (begin_[0] > 0 && begin_[1] > 0 &&
           IsSame(*calls_[0][begin_[0] - 1], *calls_[1][begin_[1] - 1])) {
      --begin_[0];
      --begin_[1];
    }
    if (begin_[0] == 0 || begin_[1] == 0) return;
    // Both lists have earlier calls that differ. If no record is lost, show them from the
    // beginning.
    if (!Of(0).HasLostRecords() && !Of(1).HasLostRecords()) begin_ = {0, 0};
  }

  // Same operation and call path, same communicator if it is shared, and matching arguments.
  bool IsSame(const Event& left, const Event& right) const {
    if (analysis_.Site(left) != analysis_.Site(right)) return false;
    const uint32_t communicator = CommunicatorOf(left);
    const uint32_t other = CommunicatorOf(right);
    if ((IsShared(communicator) || IsShared(other)) && communicator != other) return false;
    if (communicator != other) return true;
    const uint64_t a = analysis_.Args(left).semantic_hash;
    const uint64_t b = analysis_.Args(right).semantic_hash;
    return left.sequence == right.sequence && (a == b || a == 0 || b == 0);
  }

  std::string Cell(int side, const Event* event) const {
    if (event == nullptr) return {};
    std::string text = ShownCall(analysis_, *event, /*numbered=*/true);
    const std::string place = ShownPlace(analysis_, *event);
    if (!place.empty()) text += "  " + place;
    if (IsInside(Of(side), *event)) text += "  inside";
    return text;
  }
  void AddRow(const Event* left, const Event* right) {
    const bool same = left != nullptr && right != nullptr && IsSame(*left, *right);
    rows_.push_back({Cell(0, left), same ? CallDifference::kSame : "≠", Cell(1, right)});
  }

  // Adds the rows after the first difference, aligned by the longest common subsequence.
  void AddRowsAfter(size_t rows) {
    constexpr size_t kWindow = 256;
    const auto left = [&](size_t i) { return At(0, same_ + i); };
    const auto right = [&](size_t i) { return At(1, same_ + i); };
    size_t counts[2];
    for (const int side : {0, 1}) {
      counts[side] = std::min(kWindow, calls_[side].size() - begin_[side] - same_);
    }
    const size_t n = counts[0];
    const size_t m = counts[1];
    // common[i][j]: the length of this subsequence for the calls from i and from j on.
    std::vector<uint16_t> common((n + 1) * (m + 1));
    const auto length = [&](size_t i, size_t j) -> uint16_t& { return common[i * (m + 1) + j]; };
    for (size_t i = n; i-- > 0;) {
      for (size_t j = m; j-- > 0;) {
        length(i, j) = IsSame(*left(i), *right(j)) ? static_cast<uint16_t>(length(i + 1, j + 1) + 1)
                                                   : std::max(length(i + 1, j), length(i, j + 1));
      }
    }
    size_t i = 0;
    size_t j = 0;
    for (; rows > 0 && (i < n || j < m); --rows) {
      if (i < n && j < m && IsSame(*left(i), *right(j))) {
        AddRow(left(i++), right(j++));
      } else if (i < n && j < m && length(i + 1, j + 1) == length(i, j)) {
        AddRow(left(i++), right(j++));  // one call in place of the other
      } else if (j == m || (i < n && length(i + 1, j) >= length(i, j + 1))) {
        AddRow(left(i++), nullptr);
      } else {
        AddRow(nullptr, right(j++));
      }
    }
    const size_t rest = std::max(calls_[0].size() - begin_[0] - same_ - i,
                                 calls_[1].size() - begin_[1] - same_ - j);
    if (rest != 0) rows_.push_back({fmt::format("… {} more calls", rest), "", ""});
  }

  const AlignedTrace& analysis_;
  const std::array<uint32_t, 2> process_;
  std::array<std::vector<const Event*>, 2> calls_;
  std::array<size_t, 2> begin_ = {0, 0};
  std::vector<uint32_t> shared_;  // communicators, ascending
  size_t same_ = 0;               // calls from begin_ on
  std::vector<std::vector<std::string>> rows_;
};

std::string DifferenceText(const CallDifference& difference) {
  std::string text = fmt::format("{} and {}\n", difference.left, difference.right);
  for (const std::string& note : difference.notes) text += fmt::format("  {}\n", note);
  text += '\n';
  const std::vector<std::string> lines = AlignColumns(difference.rows);
  for (size_t i = 0; i < lines.size(); ++i) {
    text += fmt::format("  {} {}\n", i == difference.first ? "▸" : " ", lines[i]);
  }
  return text;
}

std::string NoSuchRank(int32_t rank) { return fmt::format("there is no trace of rank {}", rank); }

}  // namespace

Shown ShowRank(const AlignedTrace& analysis, int32_t rank, size_t last) {
  Shown shown;
  for (const uint32_t index : ProcessesOf(analysis.trace, rank)) {
    const Process& process = analysis.trace.processes[index];
    const std::vector<const Event*> calls = CallsOf(analysis, index);
    const size_t from = calls.size() - std::min(calls.size(), last);
    if (!shown.text.empty()) shown.text += '\n';
    shown.text += ProcessText(process);
    if (from != 0) shown.text += fmt::format(" · {} earlier calls", from);
    if (!process.user_phase.empty()) shown.text += "\n  phase: " + process.user_phase;
    shown.text += "\n\n";
    std::vector<std::vector<std::string>> rows;
    for (size_t i = from; i < calls.size(); ++i) {
      const Event& event = *calls[i];
      const bool inside = IsInside(process, event);
      rows.push_back({"-" + DurationOr(event.start_ns, calls.back()->start_ns),
                      inside ? "inside" : DurationOr(event.start_ns, event.end_ns),
                      ShownCall(analysis, event, /*numbered=*/true), ShownPlace(analysis, event),
                      ShownFunction(analysis, event)});
    }
    for (const std::string& line : AlignColumns(rows)) shown.text += "    " + line + '\n';
    if (HasEnded(process.end)) shown.text += "    " + EndText(process) + '\n';
  }
  if (shown.text.empty()) shown.error = NoSuchRank(rank);
  return shown;
}

Shown ShowThreads(const Trace& trace, int32_t rank) {
  Shown shown;
  for (const uint32_t index : ProcessesOf(trace, rank)) {
    const Process& process = trace.processes[index];
    if (!shown.text.empty()) shown.text += '\n';
    shown.text += ProcessText(process) + '\n';
    for (const LiveStack& thread : process.live_stacks) {
      shown.text += fmt::format("\n    {}\n", ThreadText(thread));
      for (const std::string& line : FrameLines(FramesOf(thread), /*full=*/true)) {
        shown.text += fmt::format("      {}\n", line);
      }
    }
  }
  if (shown.text.empty()) shown.error = fmt::format("there is no stack of rank {}", rank);
  return shown;
}

CallDifference CompareCalls(const AlignedTrace& analysis, uint32_t left, uint32_t right,
                            size_t around) {
  return RankDifference(analysis, left, right).Compare(around);
}

Shown ShowDifference(const AlignedTrace& analysis, int32_t left, int32_t right, size_t around) {
  const std::vector<uint32_t> lefts = ProcessesOf(analysis.trace, left);
  const std::vector<uint32_t> rights = ProcessesOf(analysis.trace, right);
  if (lefts.empty()) return {"", NoSuchRank(left)};
  if (rights.empty()) return {"", NoSuchRank(right)};
  for (const uint32_t a : lefts) {
    for (const uint32_t b : rights) {
      if (analysis.trace.processes[a].world != analysis.trace.processes[b].world) continue;
      return {DifferenceText(CompareCalls(analysis, a, b, around)), ""};
    }
  }
  return {"", fmt::format("ranks {} and {} are of two jobs", left, right)};
}

}  // namespace rollcall
