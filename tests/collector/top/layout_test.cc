// SPDX-License-Identifier: Apache-2.0
// A state as protobuf text, and the screen that it gives.
#include "collector/top/layout.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/report/columns.h"

namespace rollcall::top {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kStalledState[] = R"pb(
  agents: 1
  ranks: 4
  expected_ranks: 4
  suspicion: "all ranks wait"
  classes {
    count: 1
    first_rank: 1
    ranks: "1"
    activity: "computing"
    longest_ns: 5800000000
    share_inside: 0.02
  }
  classes {
    count: 3
    ranks: "0,2-3"
    activity: "waiting"
    operation: "MPI_Barrier"
    communicator: 7
    communicators: 1
    size: 4
    first_sequence: 62
    last_sequence: 62
    longest_ns: 5810000000
    share_inside: 0.96
  }
  communicators {
    key: 7
    name: "MPI_COMM_WORLD"
    size: 4
    entered_by_first: 62
    entered_by_all: 61
    completed_by_all: 61
    waiting: 3
    longest_ns: 5810000000
  }
  communicators {
    key: 0x1234567800000000
    size: 2
    entered_by_first: 9
    entered_by_all: 9
    completed_by_all: 9
    per_second: 12.34
  }
  late { rank: 1 samples: 69 late: 39 total_ns: 6084000000 most_ns: 440000000 now_ns: 5800000000 }
  findings { certainty: "likely" title: "rank 1 has not arrived" reported: true }
  findings { certainty: "suspected" title: "ranks 0-3 differ" }
)pb";

rpc::WatchState Parsed(const std::string& text) {
  rpc::WatchState state;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &state));
  return state;
}

std::string Shown(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    text += line.text.substr(0, line.text.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

TEST(TopLayout, ShowsAStalledJobOnEightyColumns) {
  EXPECT_EQ(Shown(Layout(Parsed(kStalledState), {}, 80, 17)),
            R"(rollcall top   4 of 4 ranks live, 1 agent   sorted by ranks
the samples look like a hang: all ranks wait
 COUNT RANKS          STATE         FOR  COLL/S   IN  CALL
     3 0,2-3          waiting     5.8 s     0.0  96%  MPI_Barrier #62 on MPI_CO…
     1 1              computing   5.8 s     0.0   2%  outside every call
FOUND, OR SUSPECTED SO FAR
likely: rank 1 has not arrived
suspected, not yet reported: ranks 0-3 differ
  SIZE    ENTERED     BY ALL  COMPLETED  COLL/S WAITING  COMMUNICATOR
     4        #62        #61        #61     0.0       3  MPI_COMM_WORLD
     2         #9         #9         #9    12.3       0  12345678
OTHERS WAITED FOR
rank 1: 39 of 69 samples (57%), 156 ms on average, 440 ms at most; late now by …



q quit  s sort  / filter  Up/Down  Enter calls  t stacks  r rank  d diagnose
)");
}

TEST(TopLayout, SharesTheRoomOfASmallScreen) {
  const std::string text = Shown(Layout(Parsed(kStalledState), {}, 60, 11));
  EXPECT_THAT(text, HasSubstr("#62        #61        #61"));
  EXPECT_THAT(text, HasSubstr("likely: rank 1"));
  EXPECT_THAT(text, HasSubstr("rank 1: 39 of 69"));
  EXPECT_THAT(text, Not(HasSubstr("outside every call")));
}

TEST(TopLayout, HasExactlyTheSizeOfTheScreen) {
  const rpc::WatchState state = Parsed(kStalledState);
  View with_text;
  with_text.text = std::vector<std::string>(100, std::string(300, 'x'));
  for (const View& view : {View(), with_text}) {
    for (size_t height = 0; height < 30; ++height) {
      for (const size_t width : {0, 1, 5, 80, 500}) {
        const std::vector<Line> lines = Layout(state, view, width, height);
        ASSERT_EQ(lines.size(), height);
        for (const Line& line : lines) ASSERT_LE(Width(line.text), width);
      }
    }
  }
}

TEST(TopLayout, KeepsTheChosenRowInSight) {
  rpc::WatchState state;
  for (int i = 0; i < 40; ++i) {
    rpc::RankClass* one = state.add_classes();
    one->set_count(static_cast<uint32_t>(100 - i));
    one->set_ranks("rank" + std::to_string(i));
    one->set_activity("computing");
  }
  View view;
  view.selected = 33;
  const std::vector<Line> lines = Layout(state, view, 80, 24);
  std::string selected;
  for (const Line& line : lines) {
    if (line.style == Line::Style::kSelected) selected += line.text;
  }
  EXPECT_THAT(selected, HasSubstr("rank33"));
}

TEST(TopLayout, SortsAndFilters) {
  const rpc::WatchState state = Parsed(R"pb(
    classes {
      count: 1
      first_rank: 0
      longest_ns: 9
      share_inside: 0.1
      per_second: 3
      communicator: 1
      communicators: 1
    }
    classes {
      count: 2
      first_rank: 1
      longest_ns: 8
      share_inside: 0.9
      per_second: 5
      communicator: 2
      communicators: 1
    }
    classes { count: 3 first_rank: 3 longest_ns: 7 share_inside: 0.5 per_second: 4 }
    communicators { key: 1 name: "rows" size: 2 }
    communicators { key: 2 name: "columns" size: 2 }
  )pb");
  const auto order = [&](Sort sort) { return ShownClasses(state, {.sort = sort}); };
  EXPECT_EQ(order(Sort::kRanks), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(order(Sort::kTime), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(order(Sort::kShare), (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(order(Sort::kRate), (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(ShownClasses(state, {.filter = "col"}), (std::vector<int>{1}));
  const std::string text = Shown(Layout(state, {.filter = "col"}, 80, 24));
  EXPECT_THAT(text, HasSubstr("  columns\n"));
  EXPECT_THAT(text, Not(HasSubstr("  rows\n")));
}

TEST(TopLayout, SaysHowTheJobEnded) {
  EXPECT_THAT(Shown(Layout(Parsed(R"pb(end: "the job ended")pb"), {}, 80, 24)),
              HasSubstr("\nthe job ended\n"));
}

TEST(TopLayout, ShowsAScrolledText) {
  View view;
  view.text = TextLines("one\ntwo\nthree\nfour\n");
  view.scrolled = 1;
  const std::string text = Shown(Layout({}, view, 80, 5));
  EXPECT_THAT(text, HasSubstr("\ntwo\nthree\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("one")), Not(HasSubstr("four"))));
}

// A collector is not trusted more than a file: ANSI sequences, bidirectional overrides, very long
// names, broken UTF-8.
TEST(TopLayout, CleansHostileTexts) {
  const std::string hostile =
      "\x1b[2J\x1b]0;title\x07 \u202Eevil\u2066 \xff\n\t\r" + std::string(10'000, 'x');
  rpc::WatchState state = Parsed(kStalledState);
  state.mutable_classes(0)->set_ranks(hostile);
  state.mutable_classes(0)->set_operation(hostile);
  state.mutable_classes(1)->set_activity(hostile);
  state.mutable_communicators(0)->set_name(hostile);
  state.mutable_findings(0)->set_title(hostile);
  state.set_suspicion(hostile);
  View view;
  for (const bool with_text : {false, true}) {
    if (with_text) view.text = TextLines(hostile);
    for (const Line& line : Layout(state, view, 80, 24)) {
      EXPECT_THAT(line.text, Each(AllOf(Not('\x1b'), Not('\a'), Not('\n'), Not('\t'), Not('\r'),
                                        Not('\xff'))));
      EXPECT_THAT(line.text, Not(HasSubstr("\u202E")));
      EXPECT_THAT(line.text, Not(HasSubstr("\u2066")));
      EXPECT_LE(line.text.size(), 80U * 3);
    }
  }
}

TEST(TopLayout, CutsCharactersAndNotBytes) {
  const rpc::WatchState state = Parsed(R"pb(end: "ééééééé")pb");
  EXPECT_EQ(Layout(state, {}, 7, 3)[1].text, "ééééééé");
  EXPECT_EQ(Layout(state, {}, 6, 3)[1].text, "ééééé…");
  EXPECT_EQ(Layout(state, {}, 1, 3)[1].text, "…");
  EXPECT_EQ(Layout(state, {}, 0, 3)[1].text, "");
}

}  // namespace
}  // namespace rollcall::top
