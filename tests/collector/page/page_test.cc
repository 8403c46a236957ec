// SPDX-License-Identifier: Apache-2.0
// The data of a report page (report/src/data.ts), of traces as text.
#include "collector/page/page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/report/text_report.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;

constexpr char kSkipped[] = R"(
ranks 4
0-3: Barrier @ main:20 > exchange:86
1-3: waits in Barrier @ main:20 > exchange:88
0: waits in Allreduce sum 1xMPI_DOUBLE @ main:20 > exchange:97
0-1: runs-on node1
2-3: runs-on node2
)";

Json DataOf(const std::string& text, const TextOptions& style = {}) {
  const TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_EQ(parsed.errors, std::vector<std::string>{}) << text;
  const DiagnoseOptions options;
  const Report report = Diagnose(parsed.trace, options);
  return PageData(Analyze(parsed.trace, options), report, style, "1.2.3");
}

// "0-2,5: done A, inside B; …" of the classes of the first communicator; A, B: the functions.
std::string ClassesOf(const Json& data) {
  constexpr std::array<const char*, 5> kStates = {"done", "inside", "not there", "overwritten",
                                                  "no trace"};
  std::string text;
  for (const Json& one : data["communicators"][0]["classes"]) {
    if (!text.empty()) text += "; ";
    text += one["ranks"]["text"].get<std::string>() + (one["culprit"] ? " culprit" : "") +
            (one["mixed"] ? " mixed" : "") + ":";
    for (const Json& run : one["runs"]) {
      text += fmt::format(" {}x{} {}", run[0].get<int>(), run[1].get<int>(),
                          kStates.at(run[2].get<size_t>()));
      if (run[3].is_number()) {
        text += " " + data["calls"][run[3].get<size_t>()]["operation"].get<std::string>();
      }
    }
  }
  return text;
}

std::vector<std::string> RanksOf(const Json& array) {
  std::vector<std::string> texts;
  for (const Json& entry : array) texts.push_back(entry["ranks"]["text"]);
  return texts;
}

TEST(Page, NamesItsFormat) {
  const Json data = DataOf(kSkipped);
  EXPECT_EQ(data["format"], "rollcall-report");
  EXPECT_EQ(data["version"], 1);
  EXPECT_EQ(data["rollcall"], "1.2.3");
  EXPECT_EQ(data["status"], "hung");
}

TEST(Page, HasTheVerdictWithItsSources) {
  TextOptions style;
  style.excerpt = [](const std::string& file, const std::vector<int>& lines) {
    SourceExcerpt excerpt;
    excerpt.lines = {{lines.front(), "Call();  // " + file, true}};
    return excerpt;
  };
  const Json finding = DataOf(kSkipped, style)["findings"][0];
  EXPECT_EQ(finding["kind"], "rank-conditional-collective");
  EXPECT_EQ(finding["certainty"], "proven");
  EXPECT_EQ(finding["culprits"], (Json{{"text", "0"}, {"count", 1}}));
  EXPECT_EQ(finding["waiting"], (Json{{"text", "1-3"}, {"count", 3}}));
  EXPECT_EQ(finding["sequence"], 2);
  ASSERT_THAT(finding["sites"], SizeIs(2));
  const Json& culprit = finding["sites"][1];
  EXPECT_EQ(culprit["role"], "culprit");
  EXPECT_EQ(culprit["place"], "app.c:97");
  EXPECT_EQ(culprit["source"][0]["text"], "Call();  // app.c");
  EXPECT_EQ(culprit["source"][0]["marked"], true);
  EXPECT_EQ(culprit["stack"][0]["function"], "exchange");
  EXPECT_EQ(culprit["stack"][0]["user"], true);
}

TEST(Page, RanksThatDidTheSameAreOneClass) {
  const Json data = DataOf(kSkipped);
  EXPECT_EQ(ClassesOf(data),
            "0 culprit: 1x1 done MPI_Barrier 2x1 inside MPI_Allreduce; "
            "1-3: 1x1 done MPI_Barrier 2x1 inside MPI_Barrier");
  const Json& world = data["communicators"][0];
  EXPECT_EQ(world["marked"], 2);
  EXPECT_EQ(world["members"], Json::array({1, 0, 3, 1}));
  EXPECT_EQ(world["ranks"], Json::array({0, 4}));
}

TEST(Page, StatesOfAMatrix) {
  EXPECT_EQ(ClassesOf(DataOf(R"(
ranks 4
0-2: Barrier @ main:1
0-1: Barrier @ main:2
0: waits in Barrier @ main:3
1: loses 1
2: computes @ main:9
3: has no trace
)")),
            "0: 1x1 done MPI_Barrier 2x1 done MPI_Barrier 3x1 inside MPI_Barrier; "
            "1: 1x1 overwritten 2x1 done MPI_Barrier 3x1 not there; "
            "2: 1x1 done MPI_Barrier 2x2 not there; 3: 1x3 no trace");
}

TEST(Page, EqualCallsInARowAreOneRun) {
  EXPECT_EQ(ClassesOf(DataOf(R"(
ranks 2
repeat 5
0-1: Barrier @ main:1
end
0-1: Bcast 1xMPI_INT root=0 @ main:2
)")),
            "0,1: 1x5 done MPI_Barrier 6x1 done MPI_Bcast");
}

// The hang may be thousands of calls behind the divergence or before the end.
TEST(Page, ShowsTheNumbersAroundTheDivergence) {
  const Json data = DataOf(R"(
ranks 2
repeat 500
0-1: Barrier @ main:1
end
0: waits in Barrier @ main:2
1: computes @ main:9
)");
  const Json& world = data["communicators"][0];
  EXPECT_EQ(world["highest"], 501);
  EXPECT_EQ(world["first"], 469);
  EXPECT_EQ(world["last"], 501);
}

TEST(Page, ShowsNoNumbersOfWhichNothingIsRecorded) {
  const Json data = DataOf(R"(
ranks 2
repeat 50
0-1: Barrier @ main:1
end
0-1: loses 45
)");
  EXPECT_EQ(data["communicators"][0]["first"], 46);
}

TEST(Page, TheCommunicatorOfTheFindingIsFirst) {
  const Json data = DataOf(R"(
ranks 4
comm rows 2,3
0-3: Barrier @ main:1
2: waits in Barrier on=rows @ main:2
3: waits in Bcast 1xMPI_INT root=0 on=rows @ main:3
)");
  EXPECT_EQ(data["communicators"][0]["name"], "rows");
  EXPECT_EQ(data["communicators"][0]["ranks"], Json::array({2, 2}));
  EXPECT_EQ(data["communicators"][1]["name"], "MPI_COMM_WORLD");
}

TEST(Page, ArrivalsNameTheLastRank) {
  const Json data = DataOf(R"(
ranks 2
0: Barrier @ main:1
1: Barrier @ main:1
)");
  const Json& arrivals = data["communicators"][0]["arrivals"];
  ASSERT_THAT(arrivals, SizeIs(1));
  EXPECT_EQ(arrivals[0][0], 1);
  EXPECT_LT(arrivals[0][1], arrivals[0][2]);
  EXPECT_EQ(arrivals[0][3], 1);
}

TEST(Page, StragglersCameLastToSeveralCollectives) {
  const auto stragglers = [](int rounds) {
    return DataOf(fmt::format("ranks 2\nrepeat {}\n0: Barrier @ main:1\n1: Barrier @ main:1\nend\n",
                              rounds))["stragglers"];
  };
  EXPECT_THAT(stragglers(7), SizeIs(0)) << "of a few, who comes last is chance";
  const Json late = stragglers(8);
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0]["rank"], 1);
  EXPECT_EQ(late[0]["last"], 8);
  EXPECT_EQ(late[0]["of"], 8);
  EXPECT_GT(late[0]["mean_late"], 0);
  EXPECT_GE(late[0]["most_late"], late[0]["mean_late"]);
}

TEST(Page, MissingTraceLeavesArrivalsUnknown) {
  const Json data = DataOf(R"(
ranks 3
0: Barrier @ main:1
1: Barrier @ main:1
2: has no trace
)");
  EXPECT_THAT(data["communicators"][0]["arrivals"], SizeIs(0));
  EXPECT_THAT(data["stragglers"], SizeIs(0));
  EXPECT_EQ(data["looked_at"]["missing"]["text"], "2");
}

TEST(Page, MarksACycleOfWaits) {
  const Json graph = DataOf(R"(
ranks 3
0: waits in Recv 1xMPI_INT peer=1 tag=1 @ main:5
1: waits in Recv 1xMPI_INT peer=0 tag=1 @ main:6
2: waits in Recv 1xMPI_INT peer=0 tag=2 @ main:7
)")["graph"];
  ASSERT_THAT(graph["nodes"], SizeIs(3));
  EXPECT_THAT(RanksOf(graph["nodes"]), ElementsAre("0", "1", "2"));
  EXPECT_EQ(graph["nodes"][0]["cycle"], true);
  EXPECT_EQ(graph["nodes"][1]["cycle"], true);
  EXPECT_EQ(graph["nodes"][2]["cycle"], false);
  size_t in_cycle = 0;
  for (const Json& edge : graph["edges"]) in_cycle += edge["cycle"] ? 1 : 0;
  EXPECT_EQ(in_cycle, 2U);
}

TEST(Page, StacksOfAllRanksAreOneTree) {
  const Json root = DataOf(kSkipped)["stacks"]["root"];
  EXPECT_EQ(root["ranks"]["count"], 4);
  ASSERT_THAT(root["callees"], SizeIs(1));
  const Json& main = root["callees"][0];
  EXPECT_EQ(main["function"], "main");
  ASSERT_THAT(main["callees"], SizeIs(2));
  EXPECT_EQ(main["callees"][0]["ranks"]["text"], "0");
  EXPECT_EQ(main["callees"][1]["place"], "app.c:88");
  EXPECT_EQ(main["callees"][1]["callees"][0]["function"], "→ MPI_Barrier");
}

TEST(Page, RankThatIsOutsideOfCallsHasItsLiveStack) {
  const Json main = DataOf(R"(
ranks 2
0: waits in Barrier @ main:1
1: computes @ main:2 > work:9
)")["stacks"]["root"]["callees"];
  ASSERT_THAT(main, SizeIs(2));
  EXPECT_EQ(main[1]["callees"][0]["function"], "work");
}

// Its last call says little about a rank that is outside of it for long.
TEST(Page, RankThatIsOutsideOfCallsIsShownAtItsPlace) {
  const Json data = DataOf(R"(
ranks 2
idle 100
0-1: Barrier @ main:1
0: waits in Barrier @ main:1
1: computes @ main:2 > work:9
)");
  EXPECT_EQ(data["graph"]["nodes"][0]["lines"],
            Json::array({"rank 1", "outside every call", "app.c:9"}));
  const Json& sites = data["findings"][0]["sites"];
  EXPECT_EQ(sites.back()["stack"][0]["function"], "work");
}

TEST(Page, TimelineHasTheOpenCall) {
  const Json data = DataOf(kSkipped);
  const Json& classes = data["timeline"]["classes"];
  ASSERT_THAT(classes, SizeIs(2));
  EXPECT_EQ(classes[0]["ranks"]["text"], "0");
  EXPECT_EQ(classes[0]["culprit"], true);
  const Json& last = classes[0]["spans"].back();
  EXPECT_TRUE(last[1].is_null());
  EXPECT_EQ(data["calls"][last[2].get<size_t>()]["operation"], "MPI_Allreduce");
  EXPECT_LT(last[0], data["timeline"]["span"]);
}

TEST(Page, ComparesTheCulpritWithARankThatWaits) {
  const Json difference = DataOf(kSkipped)["difference"];
  EXPECT_THAT(difference["left"].get<std::string>(), HasSubstr("rank 0 on node1"));
  EXPECT_THAT(difference["right"].get<std::string>(), HasSubstr("rank 1 on node1"));
  EXPECT_EQ(difference["summary"], "the same 1 call, then they differ");
  ASSERT_THAT(difference["rows"], SizeIs(2));
  EXPECT_EQ(difference["rows"][0]["same"], true);
  EXPECT_EQ(difference["rows"][1]["first"], true);
}

TEST(Page, HealthyJobHasEmptyPanels) {
  const Json data = DataOf(R"(
ranks 2
0-1: Init @ main:1
0-1: Finalize @ main:2
)");
  EXPECT_THAT(data["findings"], SizeIs(0));
  EXPECT_THAT(data["communicators"], SizeIs(0));
  EXPECT_THAT(data["graph"]["nodes"], SizeIs(0));
  EXPECT_TRUE(data["difference"].is_null());
  EXPECT_THAT(data["left_out"], SizeIs(0));
}

TEST(Page, ListsHosts) {
  const Json hosts = DataOf(kSkipped)["looked_at"]["hosts"];
  ASSERT_THAT(hosts, SizeIs(2));
  EXPECT_EQ(hosts[0]["name"], "node1");
  EXPECT_EQ(hosts[1]["ranks"]["text"], "2,3");
}

// 600 ranks of which each makes another call: the culprit's class stays, and all others are named
// as left out.
TEST(Page, MergesClassesThatDoNotFit) {
  std::string text = "ranks 600\n";
  for (int rank = 0; rank < 600; ++rank) {
    text += fmt::format("{}: Bcast 1xMPI_INT root=0 @ main:{}\n", rank, rank + 1);
  }
  text +=
      "0-598: waits in Barrier @ main:1000\n599: waits in Allreduce sum 1xMPI_INT @ main:1001\n";
  const Json data = DataOf(text);
  const Json& world = data["communicators"][0];
  EXPECT_LE(world["classes"].size(), 256U);
  EXPECT_EQ(world["classes"][0]["ranks"]["text"], "599");
  EXPECT_EQ(world["classes"].back()["mixed"], true);
  EXPECT_EQ(world["members"].back(), 0) << "the last member is of the first class";
  size_t members = 0;
  for (size_t i = 0; i < world["members"].size(); i += 2) {
    members += world["members"][i].get<size_t>();
  }
  EXPECT_EQ(members, 600U);
  ASSERT_THAT(data["left_out"], SizeIs(1));
  EXPECT_THAT(data["left_out"][0].get<std::string>(), HasSubstr("classes of ranks"));
}

TEST(Page, LongListsOfRanksAreCut) {
  std::string odd;
  for (int rank = 1; rank < 400; rank += 2) odd += fmt::format("{}{}", rank == 1 ? "" : ",", rank);
  const Json data = DataOf(fmt::format("ranks 400\n{}: waits in Barrier @ main:1\n", odd));
  const Json waiting = data["communicators"][0]["classes"][0]["ranks"];
  EXPECT_EQ(waiting["count"], 200);
  const std::string text = waiting["text"];
  EXPECT_LT(text.size(), 200U);
  EXPECT_TRUE(text.ends_with(",…")) << text;
}

TEST(Page, NamesAreCleanedAndCut) {
  const std::string name(1'000'000, 'x');
  const Json data =
      DataOf(fmt::format("ranks 2\ncomm a\x1b[31m 0,1\n0: waits in Barrier on=a\x1b[31m @ {}:5\n1: "
                         "computes @ main:6\n",
                         name));
  EXPECT_EQ(data["communicators"][0]["name"], "a\uFFFD[31m");
  EXPECT_LT(data.dump().size(), 100'000U);
}

}  // namespace
}  // namespace rollcall
