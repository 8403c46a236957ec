// SPDX-License-Identifier: Apache-2.0
// The exporters of traces, checked as their readers interpret the output.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/export/exporter.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/text_trace.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;

constexpr char kTracedTwoGroups[] = R"(
ranks 4
comm low 0,1
0,1: Barrier on=low @ main:3
0-3: Barrier @ main:20 > exchange:86
1-3: waits in Barrier @ main:20 > exchange:88
0: waits in Allreduce sum 1xMPI_DOUBLE @ main:20 > exchange:97
)";

std::string Export(std::string_view kind, const std::string& text) {
  TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_EQ(parsed.errors, std::vector<std::string>{}) << text;
  const DiagnoseOptions options;
  const Report report = Diagnose(parsed.trace, options);
  const Subject subject = {.trace = parsed.trace,
                           .report = report,
                           .diagnose = options,
                           .judgement = JudgeAll(report),
                           .text = {},
                           .source_root = "",
                           .version = "test"};
  std::ostringstream out;
  FindExporter(kind)->write(subject, out);
  return out.str();
}

struct Perfetto {
  explicit Perfetto(const std::string& text) : json(Json::parse(Export("perfetto", text))) {
    for (const Json& event : json["traceEvents"]) {
      if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
      if (event["name"] == "thread_name") {
        threads[{event["pid"], event["tid"]}] = event["args"]["name"];
      }
    }
  }
  std::vector<Json> Of(const std::string& phases) const {
    std::vector<Json> events;
    for (const Json& event : json["traceEvents"]) {
      if (phases.find(event["ph"].get<std::string>()) != std::string::npos) {
        events.push_back(event);
      }
    }
    return events;
  }

  Json json;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
};

TEST(Perfetto, HasATrackPerRankAndCommunicator) {
  const Perfetto trace(kTracedTwoGroups);
  std::set<std::string> tracks;
  for (const auto& [at, name] : trace.threads) {
    tracks.insert(trace.processes.at(at.first) + " / " + name);
  }
  EXPECT_TRUE(tracks.contains("rank 0 on node0 / low"));
  EXPECT_TRUE(tracks.contains("rank 1 on node0 / MPI_COMM_WORLD"));
  EXPECT_FALSE(tracks.contains("rank 2 on node0 / low"));
  for (const Json& event : trace.Of("XBistf")) {
    EXPECT_TRUE(trace.threads.contains({event["pid"], event["tid"]})) << event;
    EXPECT_GE(event["ts"].get<double>(), 0) << event;
  }
}

TEST(Perfetto, OpenCallsHaveOnlyABeginEvent) {
  const Perfetto trace(kTracedTwoGroups);
  EXPECT_THAT(trace.Of("B"), SizeIs(4));
  EXPECT_THAT(trace.Of("E"), SizeIs(0));
  for (const Json& event : trace.Of("X")) EXPECT_GT(event["dur"].get<double>(), 0) << event;
}

// A flow touches each slice of one collective exactly once, in order of time.
TEST(Perfetto, FlowsConnectTheMembersOfOneCollective) {
  const Perfetto trace(kTracedTwoGroups);
  std::map<int, std::vector<Json>> flows;
  for (const Json& event : trace.Of("stf")) flows[event["id"]].push_back(event);
  ASSERT_THAT(flows, SizeIs(3)) << "low #1, MPI_COMM_WORLD #1 and #2";
  std::multiset<size_t> sizes;
  for (const auto& [id, events] : flows) {
    sizes.insert(events.size());
    EXPECT_EQ(events.front()["ph"], "s");
    EXPECT_EQ(events.back()["ph"], "f");
    std::set<int> pids;
    double before = 0;
    for (const Json& event : events) {
      EXPECT_TRUE(pids.insert(event["pid"].get<int>()).second);
      EXPECT_GE(event["ts"].get<double>(), before);
      before = event["ts"];
      bool bound = false;
      for (const Json& slice : trace.Of("XB")) {
        bound |= slice["pid"] == event["pid"] && slice["tid"] == event["tid"] &&
                 slice["ts"] == event["ts"];
      }
      EXPECT_TRUE(bound) << event;
    }
  }
  EXPECT_EQ(sizes, (std::multiset<size_t>{2, 4, 4}));
}

TEST(Perfetto, ShowsFindingsAsAnnotations) {
  const Perfetto trace(kTracedTwoGroups);
  const std::vector<Json> instants = trace.Of("i");
  ASSERT_THAT(instants, SizeIs(4));
  std::multiset<std::string> names;
  for (const Json& event : instants) names.insert(event["name"].get<std::string>());
  EXPECT_EQ(names.count("culprit: rank-conditional-collective"), 1u);
  EXPECT_EQ(names.count("waiting: rank-conditional-collective"), 3u);
  size_t findings = 0;
  for (const Json& event : trace.Of("X")) {
    if (event["cat"] != "finding") continue;
    ++findings;
    EXPECT_EQ(event["args"]["culprits"], Json::array({0}));
    EXPECT_EQ(trace.processes.at(event["pid"]), "rollcall: findings");
  }
  EXPECT_EQ(findings, 1u);
  EXPECT_THAT(Perfetto("ranks 2\n0-1: Barrier @ main:1\n").Of("i"), SizeIs(0));
}

// A strict reader of RFC 4180.
std::vector<std::vector<std::string>> ReadCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = rows.back().back();
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      EXPECT_EQ(field, "") << "a quote inside a field";
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      rows.push_back({""});
    } else {
      EXPECT_NE(c, '\n');
      field += c;
    }
  }
  EXPECT_EQ(rows.back(), std::vector<std::string>{""}) << "the last row ends in a line break, too";
  rows.pop_back();
  return rows;
}

TEST(Csv, AlignsRowsByCommunicatorAndSequenceNumber) {
  const auto rows = ReadCsv(Export("csv", kTracedTwoGroups));
  ASSERT_THAT(rows, SizeIs(11));
  for (const auto& row : rows) EXPECT_THAT(row, SizeIs(rows[0].size()));
  EXPECT_THAT(rows[0],
              ElementsAre("communicator", "sequence", "operation", "arguments", "rank", "host",
                          "thread", "state", "start_ns", "end_ns", "function", "file", "line"));
  std::vector<std::string> aligned;
  for (size_t i = 1; i < rows.size(); ++i) {
    aligned.push_back(rows[i][0] + "#" + rows[i][1] + "/" + rows[i][4] + " " + rows[i][7]);
  }
  EXPECT_THAT(aligned, ElementsAre("MPI_COMM_WORLD#1/0 returned", "MPI_COMM_WORLD#1/1 returned",
                                   "MPI_COMM_WORLD#1/2 returned", "MPI_COMM_WORLD#1/3 returned",
                                   "MPI_COMM_WORLD#2/0 inside", "MPI_COMM_WORLD#2/1 inside",
                                   "MPI_COMM_WORLD#2/2 inside", "MPI_COMM_WORLD#2/3 inside",
                                   "low#1/0 returned", "low#1/1 returned"));
  EXPECT_EQ(rows[5][3], "1 × MPI_DOUBLE, MPI_SUM") << "a comma inside a field";
  EXPECT_EQ(rows[5][12], "97");
}

TEST(Messages, HasARowPerPairAndTag) {
  const auto rows = ReadCsv(Export("messages", R"(
ranks 3
0: counts 1 channels
0: Send 1xMPI_INT peer=1 tag=3 @ main:1
0: Send 1xMPI_INT peer=1 tag=3 @ main:1
0: Send 1xMPI_INT peer=1 tag=4 @ main:1
1: Recv 1xMPI_INT peer=0 tag=3 @ main:1
1: Recv 1xMPI_INT peer=any tag=any @ main:1
1: Send 1xMPI_INT peer=2 tag=3 @ main:1
2: Recv 1xMPI_INT peer=1 tag=3 @ main:1
)"));
  const std::string world = "MPI_COMM_WORLD";
  EXPECT_THAT(rows, ElementsAre(ElementsAre("communicator", "from", "to", "tag", "sent", "received",
                                            "outstanding", "at_most"),
                                ElementsAre(world, "0", "1", "all", "3", "1", "2", "yes"),
                                ElementsAre(world, "0", "1", "any", "1", "", "", ""),
                                ElementsAre(world, "0", "1", "3", "2", "1", "1", "yes"),
                                ElementsAre(world, "1", "2", "all", "1", "1", "", ""),
                                ElementsAre(world, "1", "2", "3", "1", "1", "", ""),
                                ElementsAre(world, "any source", "1", "all", "", "1", "", ""),
                                ElementsAre(world, "any source", "1", "any", "", "1", "", "")));
}

TEST(Messages, QuotesNames) {
  const auto rows = ReadCsv(Export("messages", R"(
ranks 2
comm x,"y 0,1
0: Send 1xMPI_INT peer=1 tag=3 on=x,"y @ main:1
)"));
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1][0], "x,\"y");
}

TEST(Csv, DoublesQuotes) {
  const auto rows = ReadCsv(Export("csv", R"(
ranks 2
0-1: Barrier @ f"x,y":7
)"));
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1][10], "f\"x,y\"");
}

TEST(Dot, ShowsWaitDependencies) {
  const std::string dot = Export("dot", kTracedTwoGroups);
  EXPECT_THAT(dot, HasSubstr("digraph rollcall {"));
  EXPECT_THAT(dot, HasSubstr("[label=\"ranks 1-3\\nMPI_Barrier #2  app.c:88\""));
  EXPECT_THAT(dot, HasSubstr("label=\"#2\\nMPI_COMM_WORLD\\ncannot match\""));
  EXPECT_THAT(dot, HasSubstr("[label=\"rank 0\\nMPI_Allreduce #2  app.c:97\", color=red"));
}

TEST(Dot, ShowsRanksWithoutATraceAndMessages) {
  EXPECT_THAT(Export("dot", R"(
ranks 3
0,1: waits in Barrier @ main:5
2: has no trace
)"),
              HasSubstr("label=\"rank 2\\nno trace\""));
  EXPECT_THAT(Export("dot", R"(
ranks 2
0: waits in Recv 1xMPI_INT peer=1 tag=1 @ main:5
1: waits in Recv 1xMPI_INT peer=0 tag=1 @ main:6
)"),
              HasSubstr("[label=\"receives\"]"));
}

TEST(Dot, EscapesNames) {
  const std::string dot = Export("dot", R"(
ranks 2
comm a"];x\ 0,1
0: waits in Barrier on=a"];x\ @ main:5
1: computes @ main:6
)");
  EXPECT_THAT(dot, HasSubstr("a\\\"];x\\\\"));
  EXPECT_THAT(dot, Not(HasSubstr("a\"]")));
}

// The content of the element that begins with `open`.
std::string Element(const std::string& page, const std::string& open) {
  const size_t begin = page.find(open);
  if (begin == std::string::npos) return "";
  return page.substr(begin + open.size(), page.find("</", begin) - begin - open.size());
}
constexpr char kData[] = "<script type=\"application/json\" id=\"report-data\">";

TEST(Html, HoldsTheVerdictAsTextAndAsData) {
  const std::string page = Export("html", kTracedTwoGroups);
  EXPECT_THAT(Element(page, "<title>"),
              HasSubstr("rollcall: rank 0 continued to MPI_Allreduce #2"));
  EXPECT_THAT(Element(page, "<pre id=\"verdict-text\">"), HasSubstr("ranks 1-3 wait in it"));
  EXPECT_THAT(page, HasSubstr("<td>ranks 1-3</td><td>MPI_Barrier #2</td><td>app.c:88</td>"));
  const Json data = Json::parse(Element(page, kData));
  EXPECT_EQ(data["findings"][0]["weight"], "fails");
  EXPECT_THAT(data["findings"][0]["page"].get<std::string>(), HasSubstr("## Who is the culprit"));
  EXPECT_THAT(page, Not(HasSubstr("<!--rollcall:")));
}

// Nothing of the job becomes part of the page's own HTML.
TEST(Html, EscapesNames) {
  const std::string page = Export("html", R"(
ranks 2
comm </script><script>alert(1)</script> 0,1
0: waits in Barrier on=</script><script>alert(1)</script> @ f<b>&"(<i>x.c:5)
1: computes @ main:6
)");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  const Json data = Json::parse(Element(page, kData));
  EXPECT_EQ(data["communicators"][0]["name"], "</script><script>alert(1)</script>");
}

// The page may load nothing, and run no script but its own.
TEST(Html, HasAStrictPolicy) {
  const std::string page = Export("html", kTracedTwoGroups);
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-")));
}

// --- all golden traces

namespace fs = std::filesystem;

template <typename Visit>
void VisitGolden(Visit&& visit) {
  size_t traces = 0;
  for (const auto& entry :
       fs::directory_iterator(std::string(ROLLCALL_SOURCE_DIR) + "/tests/golden/verdicts")) {
    visit(entry.path().filename().string(), verdict_case::Read(entry.path()).trace);
    ++traces;
  }
  ASSERT_GT(traces, 50u);
}

// Perfetto does not draw slices of one track that overlap without one lying in the other.
TEST(Perfetto, SlicesOfATrackNest) {
  VisitGolden([](const std::string& name, const std::string& text) {
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
    const Perfetto trace(text);
    for (const Json& event : trace.Of("X")) {
      const double begin = event["ts"];
      tracks[{event["pid"], event["tid"]}].emplace_back(begin, begin + event["dur"].get<double>());
    }
    constexpr double kRounding = 1e-3;
    for (auto& [track, slices] : tracks) {
      std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
      });
      std::vector<double> ends;
      for (const auto& [begin, end] : slices) {
        while (!ends.empty() && ends.back() <= begin + kRounding) ends.pop_back();
        if (!ends.empty()) {
          EXPECT_LE(end, ends.back() + kRounding) << name << " at " << begin;
        }
        ends.push_back(end);
      }
    }
  });
}

// Binds flows as Perfetto's importer of this format does. It sorts events by time and keeps the
// order of the file for equal times. An instant of a thread is a slice of length zero. A flow is
// bound to the slice of its track that began last.
struct BoundFlow {
  const Json* flow = nullptr;
  const Json* slice = nullptr;  // null: the importer would drop the flow
};
std::vector<BoundFlow> BoundFlows(const Json& trace) {
  struct Timed {
    double ts;
    const Json* event;
  };
  std::vector<Timed> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "M") events.push_back({event["ts"], &event});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Timed& a, const Timed& b) { return a.ts < b.ts; });
  std::map<std::pair<int, int>, const Json*> newest;  // by track
  std::vector<BoundFlow> bound;
  for (const auto& [ts, event] : events) {
    const Json*& slice = newest[{(*event)["pid"], (*event)["tid"]}];
    const char phase = (*event)["ph"].get_ref<const std::string&>()[0];
    if (phase == 's' || phase == 't' || phase == 'f') {
      bound.push_back({event, slice});
    } else {
      slice = event;
    }
  }
  return bound;
}

TEST(Perfetto, FlowsAreBoundToCallSlices) {
  VisitGolden([](const std::string& name, const std::string& text) {
    const Json trace = Json::parse(Export("perfetto", text));
    for (const auto& [flow, slice] : BoundFlows(trace)) {
      ASSERT_NE(slice, nullptr) << name << " " << *flow;
      EXPECT_EQ((*slice)["cat"], "collective") << name << " " << *flow << *slice;
      EXPECT_EQ(fmt::format("#{}", (*slice)["args"].value("sequence", 0)), (*flow)["name"])
          << name << " " << *flow << *slice;
      EXPECT_EQ(flow->contains("bp"), (*flow)["ph"] != "s") << name;
    }
  });
}

TEST(Csv, EveryRowHasEveryColumn) {
  VisitGolden([](const std::string& name, const std::string& text) {
    const auto rows = ReadCsv(Export("csv", text));
    for (const auto& row : rows) EXPECT_THAT(row, SizeIs(13)) << name;
  });
}

TEST(Dot, GraphvizAcceptsTheOutput) {
  if (system("dot -V > /dev/null 2>&1") != 0) GTEST_SKIP() << "graphviz is not installed";
  const TemporaryDirectory directory;
  VisitGolden([&](const std::string& name, const std::string& text) {
    directory.Write(name + ".dot", Export("dot", text));
  });
  // Warnings count as errors: Graphviz warns about a graph that ends early.
  const std::string command = "dot -Tcanon '" + directory.path() + "'/*.dot 2>&1 > /dev/null";
  std::FILE* said = popen(command.c_str(), "r");
  ASSERT_NE(said, nullptr);
  std::string warnings(4096, '\0');
  warnings.resize(std::fread(warnings.data(), 1, warnings.size(), said));
  EXPECT_EQ(pclose(said), 0);
  EXPECT_EQ(warnings, "");
}

}  // namespace
}  // namespace rollcall
