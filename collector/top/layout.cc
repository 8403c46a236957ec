// SPDX-License-Identifier: Apache-2.0
#include "collector/top/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "collector/base/text.h"
#include "collector/report/columns.h"

namespace rollcall::top {
namespace {

using Style = Line::Style;

constexpr size_t kMaxLineBytes = 4096;
constexpr size_t kTab = 8;
constexpr const char* kKeys =
    "q quit  s sort  / filter  Up/Down  Enter calls  t stacks  r rank  d diagnose";
constexpr const char* kTextKeys = "q quit  Esc back  Up/Down, PageUp/PageDown scroll";

// `raw` as safe text of at most `columns` columns.
std::string CleanCut(std::string_view raw, size_t columns) {
  return Cut(CleanText(raw, kMaxLineBytes), columns);
}
std::string Left(std::string_view raw, size_t columns) {
  return Padded(CleanCut(raw, columns), columns);
}
std::string Right(std::string_view raw, size_t columns) {
  const std::string text = CleanCut(raw, columns);
  return std::string(columns - Width(text), ' ') + text;
}

std::string Duration(int64_t ns) {
  const double s = static_cast<double>(ns) * 1e-9;
  if (s < 0.9995) return fmt::format("{:.0f} ms", s * 1e3);
  if (s < 60) return fmt::format("{:.1f} s", s);
  const auto whole = static_cast<int64_t>(s);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string Rate(double per_second) {
  return per_second < 100 ? fmt::format("{:.1f}", per_second) : fmt::format("{:.0f}", per_second);
}

std::string Percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string_view SortName(Sort sort) {
  constexpr std::array<std::string_view, kSorts> kNames = {"ranks", "time", "share in collectives",
                                                           "collectives per second"};
  return kNames[static_cast<size_t>(sort)];
}

// "MPI_Allreduce #58 on MPI_COMM_WORLD"
std::string CallText(const rpc::WatchState& state, const rpc::RankClass& one) {
  if (one.operation().empty()) return one.activity() == "ended" ? "" : "outside every call";
  std::string text = one.operation();
  if (one.last_sequence() != 0) {
    text += fmt::format(" #{}", one.first_sequence());
    if (one.last_sequence() != one.first_sequence())
      text += fmt::format("-{}", one.last_sequence());
  }
  if (one.communicators() == 1) text += " on " + Label(state, one.communicator());
  if (one.communicators() > 1) {
    text += fmt::format(" on {} of size {}", one.communicators(), one.size());
  }
  return text;
}

bool Matches(const rpc::WatchState& state, uint64_t communicator, const View& view) {
  return view.filter.empty() || Label(state, communicator).find(view.filter) != std::string::npos;
}

// A table: its title, and its rows. The number of shown rows depends on the room.
struct Section {
  std::string title;
  std::vector<Line> rows = {};
  size_t first = 0;  // row, if not all are shown
  size_t shown = 0;
};

// The first six columns take 53 columns of the screen, the call the others.
std::string ClassRow(std::string_view count, std::string_view ranks, std::string_view activity,
                     std::string_view time, std::string_view rate, std::string_view share,
                     std::string_view call) {
  return fmt::format("{} {} {} {} {} {}  {}", Right(count, 6), Left(ranks, 14), Left(activity, 9),
                     Right(time, 7), Right(rate, 7), Right(share, 4), call);
}

Section ClassSection(const rpc::WatchState& state, const View& view) {
  Section section{.title = ClassRow("COUNT", "RANKS", "STATE", "FOR", "COLL/S", "IN", "CALL")};
  for (const int index : ShownClasses(state, view)) {
    const rpc::RankClass& one = state.classes(index);
    const bool selected = section.rows.size() == view.selected;
    section.rows.push_back({ClassRow(std::to_string(one.count()), one.ranks(), one.activity(),
                                     Duration(one.longest_ns()), Rate(one.per_second()),
                                     Percent(one.share_inside()), CallText(state, one)),
                            selected ? Style::kSelected : Style::kPlain});
  }
  return section;
}

std::string CommunicatorRow(std::string_view size, std::string_view first, std::string_view all,
                            std::string_view completed, std::string_view rate,
                            std::string_view waiting, std::string_view name) {
  return fmt::format("{} {} {} {} {} {}  {}", Right(size, 6), Right(first, 10), Right(all, 10),
                     Right(completed, 10), Right(rate, 7), Right(waiting, 7), name);
}

Section CommunicatorSection(const rpc::WatchState& state, const View& view) {
  Section section{.title = CommunicatorRow("SIZE", "ENTERED", "BY ALL", "COMPLETED", "COLL/S",
                                           "WAITING", "COMMUNICATOR")};
  for (const rpc::CommunicatorState& one : state.communicators()) {
    if (!Matches(state, one.key(), view)) continue;
    const auto number = [](uint64_t sequence) { return fmt::format("#{}", sequence); };
    section.rows.push_back({CommunicatorRow(
        std::to_string(one.size()), number(one.entered_by_first()), number(one.entered_by_all()),
        number(one.completed_by_all()), Rate(one.per_second()), std::to_string(one.waiting()),
        Label(state, one.key()))});
  }
  return section;
}

Section LateSection(const rpc::WatchState& state) {
  Section section{.title = "OTHERS WAITED FOR"};
  for (const rpc::LateRank& one : state.late()) {
    std::string text =
        fmt::format("rank {}: {} of {} samples ({})", one.rank(), one.late(), one.samples(),
                    Percent(one.samples() == 0 ? 0.0 : 1.0 * one.late() / one.samples()));
    if (one.late() != 0) {
      text += fmt::format(", {} on average, {} at most", Duration(one.total_ns() / one.late()),
                          Duration(one.most_ns()));
    }
    if (one.now_ns() != 0) text += fmt::format("; late now by {}", Duration(one.now_ns()));
    section.rows.push_back({std::move(text)});
  }
  return section;
}

Section FindingSection(const rpc::WatchState& state) {
  Section section{.title = "FOUND, OR SUSPECTED SO FAR"};
  for (const rpc::CurrentFinding& one : state.findings()) {
    section.rows.push_back({fmt::format("{}{}: {}", one.certainty(),
                                        one.reported() ? "" : ", not yet reported", one.title()),
                            Style::kAlarm});
  }
  if (section.rows.empty()) section.title.clear();
  return section;
}

std::vector<Line> Header(const rpc::WatchState& state, const View& view) {
  std::string ranks =
      fmt::format("{} of {} ranks live, {} agent{}", state.ranks(), state.expected_ranks(),
                  state.agents(), state.agents() == 1 ? "" : "s");
  if (state.ended_ranks() != 0) ranks += fmt::format(", {} ended", state.ended_ranks());
  std::string choice = fmt::format("sorted by {}", SortName(view.sort));
  if (!view.filter.empty()) choice += fmt::format(", communicators with '{}'", view.filter);
  if (state.communicators_left_out() != 0) {
    choice += fmt::format(", {} communicators left out", state.communicators_left_out());
  }
  std::vector<Line> lines = {{"rollcall top   " + ranks + "   " + choice, Style::kTitle}};
  if (!state.end().empty()) {
    lines.push_back({state.end(), Style::kAlarm});
  } else if (!state.suspicion().empty()) {
    lines.push_back({"the samples look like a hang: " + state.suspicion(), Style::kAlarm});
  } else {
    lines.push_back({"the samples show no hang"});
  }
  return lines;
}

// Gives each section one row in turn while there is room, so that a long table leaves room for the
// others.
void ShareRoom(size_t room, std::vector<Section>* sections) {
  for (bool gave = true; gave && room > 0;) {
    gave = false;
    for (Section& section : *sections) {
      if (section.shown == section.rows.size() || room == 0) continue;
      const size_t cost = section.shown == 0 ? 2 : 1;  // with its title
      if (cost > room) continue;
      ++section.shown;
      room -= cost;
      gave = true;
    }
  }
}

void AppendTables(const rpc::WatchState& state, const View& view, size_t room,
                  std::vector<Line>* lines) {
  std::vector<Section> sections = {ClassSection(state, view), FindingSection(state),
                                   CommunicatorSection(state, view), LateSection(state)};
  ShareRoom(room, &sections);
  const size_t shown = std::max<size_t>(1, sections[0].shown);
  if (view.selected >= shown) sections[0].first = view.selected - shown + 1;
  for (const Section& section : sections) {
    if (section.shown == 0) continue;
    lines->push_back({section.title, Style::kTitle});
    for (size_t i = 0; i < section.shown; ++i) {
      const size_t row = section.first + i;
      if (row < section.rows.size()) lines->push_back(section.rows[row]);
    }
  }
}

}  // namespace

std::string Label(const rpc::WatchState& state, uint64_t communicator) {
  for (const rpc::CommunicatorState& one : state.communicators()) {
    if (one.key() != communicator) continue;
    if (!one.name().empty()) return CleanText(one.name(), kMaxLineBytes);
    if (static_cast<uint32_t>(one.size()) == state.expected_ranks()) {
      return fmt::format("all ranks {:04x}", communicator >> 48);
    }
  }
  return fmt::format("{:08x}", communicator >> 32);
}

std::vector<int> ShownClasses(const rpc::WatchState& state, const View& view) {
  std::vector<int> shown;
  for (int i = 0; i < state.classes_size(); ++i) {
    const rpc::RankClass& one = state.classes(i);
    if (view.filter.empty() ||
        (one.communicators() != 0 && Matches(state, one.communicator(), view))) {
      shown.push_back(i);
    }
  }
  const auto rank = [&](int index) -> double {
    const rpc::RankClass& one = state.classes(index);
    switch (view.sort) {
      case Sort::kRanks:
        return one.count();
      case Sort::kTime:
        return static_cast<double>(one.longest_ns());
      case Sort::kShare:
        return one.share_inside();
      case Sort::kRate:
        return one.per_second();
    }
    return 0;
  };
  std::ranges::sort(shown, [&](int a, int b) {
    return std::tuple(-rank(a), state.classes(a).first_rank()) <
           std::tuple(-rank(b), state.classes(b).first_rank());
  });
  return shown;
}

std::vector<Line> Layout(const rpc::WatchState& state, const View& view, size_t width,
                         size_t height) {
  std::vector<Line> lines = Header(state, view);
  const size_t room = height > lines.size() + 1 ? height - lines.size() - 1 : 0;
  if (view.text.empty()) {
    AppendTables(state, view, room, &lines);
  } else {
    for (size_t i = view.scrolled; i < view.text.size() && i < view.scrolled + room; ++i) {
      lines.push_back({view.text[i]});
    }
  }
  lines.resize(height == 0 ? 0 : height - 1);
  const char* const keys = view.text.empty() ? kKeys : kTextKeys;
  if (height != 0) lines.push_back({view.message.empty() ? keys : view.message, Style::kTitle});
  for (Line& line : lines) line.text = CleanCut(line.text, width);
  return lines;
}

std::vector<std::string> TextLines(std::string_view answer) {
  std::vector<std::string> lines;
  while (!answer.empty()) {
    lines.push_back(CleanText(TakeUntil('\n', &answer), kMaxLineBytes, kTab));
  }
  return lines;
}

}  // namespace rollcall::top
