// SPDX-License-Identifier: Apache-2.0
#include "collector/report/json_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson Verdict(std::string_view text) {
  const TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_TRUE(parsed.errors.empty());
  return OrderedJson::parse(ToText(ReportToJson(parsed.trace, Diagnose(parsed.trace))));
}

constexpr std::string_view kJsonTrace = R"(
ranks 3
0-2: Barrier @ main:10
0,2: waits in Barrier @ main:12
1: waits in Allreduce sum 1xMPI_INT @ main:14
)";

TEST(JsonReport, HasStatusFindingsAndLines) {
  const OrderedJson verdict = Verdict(kJsonTrace);
  EXPECT_EQ(verdict["format"], "rollcall-verdict");
  EXPECT_EQ(verdict["version"], 1);
  EXPECT_EQ(verdict["status"], "hung");
  EXPECT_EQ(verdict["ranks"], 3);
  ASSERT_EQ(verdict["findings"].size(), 1u);
  const OrderedJson& finding = verdict["findings"][0];
  EXPECT_EQ(finding["kind"], "rank-conditional-collective");
  EXPECT_EQ(finding["certainty"], "proven");
  EXPECT_EQ(finding["hangs"], true);
  EXPECT_EQ(finding["culprits"], OrderedJson::array({1}));
  EXPECT_EQ(finding["waiting"], OrderedJson::array({0, 2}));
  EXPECT_EQ(finding["communicator"], "MPI_COMM_WORLD");
  EXPECT_EQ(finding["operation"], "MPI_Barrier");
  EXPECT_EQ(finding["sequence"], 2);
  ASSERT_EQ(finding["lines"].size(), 2u);
  EXPECT_EQ(finding["lines"][0]["role"], "waiting");
  EXPECT_EQ(finding["lines"][0]["line"], 12);
  EXPECT_EQ(finding["lines"][1]["role"], "culprit");
  EXPECT_EQ(finding["lines"][1]["state"], "went-on");
  EXPECT_EQ(finding["lines"][1]["function"], "main");
}

TEST(JsonReport, SaysHowMuchDataWasRead) {
  EXPECT_FALSE(Verdict(kJsonTrace).contains("data"));
  const OrderedJson verdict = Verdict(
      "ranks 2\n0,1: Bcast root=0 1xMPI_INT result=1\n"
      "0,1: Bcast root=0 1xMPI_INT data-unread=scope\n"
      "0: Allreduce sum 1xMPI_INT\n"
      "1: Allreduce sum 1xMPI_INT data-unread=device\n0,1: Finalize\n");
  EXPECT_EQ(verdict["data"],
            OrderedJson({{"buffers_read", 2}, {"buffers_unread", 1}, {"calls_outside_scope", 2}}));
  EXPECT_EQ(verdict["notes"],
            OrderedJson::array({"1 buffer of rank 1 not read: memory of a device, "
                                "or not certain to be the host's"}));
}

TEST(JsonReport, AcceptsNamesThatAreNotUtf8) {
  TextTraceResult parsed = ParseTextTrace(kJsonTrace);
  parsed.trace.communicators[0].name = "\xff\xfe";
  EXPECT_FALSE(ToText(ReportToJson(parsed.trace, Diagnose(parsed.trace))).empty());
}

constexpr std::string_view kPythonJsonTrace = R"(
ranks 3
0,1: waits in Barrier @ <module>(train.py:9) > fit(/env/lib/python3.9/site-packages/lightning/fit.py:7) > step(train.py:4) > Barrier[/env/lib/python3.9/site-packages/mpi4py/MPI.so]
2: waits in Allreduce sum 1xMPI_INT @ thread_main(engine.cpp:3) context <module>(train.py:9)
)";

TEST(JsonReport, HasAllFramesOfBothLanguages) {
  const OrderedJson line = Verdict(kPythonJsonTrace)["findings"][0]["lines"][0];
  EXPECT_EQ(line["function"], "step");
  EXPECT_EQ(line["language"], "python");
  EXPECT_EQ(line["stack_complete"], true);
  EXPECT_FALSE(line.contains("context_stack"));
  ASSERT_EQ(line["stack"].size(), 4u);
  EXPECT_EQ(line["stack"][0]["language"], "native");
  EXPECT_EQ(line["stack"][0]["framework"], "mpi4py");
  EXPECT_EQ(line["stack"][0]["line"], nullptr);
  EXPECT_EQ(line["stack"][1]["framework"], nullptr);
  EXPECT_EQ(line["stack"][1]["line"], 4);
  EXPECT_EQ(line["stack"][2]["framework"], "lightning");
  EXPECT_EQ(line["stack"][3]["function"], "<module>");
}

TEST(JsonReport, WritesContextAsASeparateStack) {
  const OrderedJson line = Verdict(kPythonJsonTrace)["findings"][0]["lines"][1];
  EXPECT_EQ(line["function"], "thread_main");
  EXPECT_EQ(line["language"], "native");
  ASSERT_EQ(line["context_stack"].size(), 1u);
  EXPECT_EQ(line["context_stack"][0]["line"], 9);
}

// Checks that the schema describes every key written, and that every required key is written.
void Check(const OrderedJson& schema, const OrderedJson& root, const OrderedJson& value,
           const std::string& where) {
  const OrderedJson* rules = &schema;
  if (schema.contains("$ref")) {
    rules = &root["$defs"][schema["$ref"].get<std::string>().substr(8)];
  }
  if (rules->contains("enum")) {
    const OrderedJson& allowed = (*rules)["enum"];
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), value), allowed.end()) << where << value;
  }
  if (value.is_object()) {
    for (const OrderedJson& key : (*rules)["required"]) {
      EXPECT_TRUE(value.contains(key.get<std::string>())) << where << "/" << key;
    }
    for (const auto& [key, member] : value.items()) {
      ASSERT_TRUE((*rules)["properties"].contains(key)) << where << "/" << key;
      Check((*rules)["properties"][key], root, member, where + "/" + key);
    }
  } else if (value.is_array() && rules->contains("items")) {
    for (const OrderedJson& member : value) Check((*rules)["items"], root, member, where + "[]");
  }
}

TEST(JsonReport, FollowsItsSchema) {
  std::ifstream file(std::string(ROLLCALL_SOURCE_DIR) + "/docs/verdict.schema.json");
  const OrderedJson schema = OrderedJson::parse(file);
  Check(schema, schema, Verdict(kJsonTrace), "");
  Check(schema, schema, Verdict(kPythonJsonTrace), "");
  Check(schema, schema, Verdict("ranks 2\n0: waits in Barrier\n1: has no trace\nidle 60\n"), "");
}

// ROLLCALL_UPDATE_GOLDEN=1 writes the list.
TEST(JsonReport, SchemaListsEveryKind) {
  const std::string path = std::string(ROLLCALL_SOURCE_DIR) + "/docs/verdict.schema.json";
  std::ifstream file(path);
  std::string schema{std::istreambuf_iterator<char>(file), {}};
  const std::string before = "\"kind\": {\"enum\": [";
  const size_t begin = schema.find(before);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = schema.find("]}", begin);
  std::string list = before;
  for (const KindRow& row : kKinds) {
    if (row.kind != VerdictKind{}) list += ",";
    list += fmt::format("\n          \"{}\"", row.name);
  }
  if (std::getenv("ROLLCALL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << schema.replace(begin, end - begin, list);
    return;
  }
  EXPECT_EQ(schema.substr(begin, end - begin), list);
}

}  // namespace
}  // namespace rollcall
