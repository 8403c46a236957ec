// SPDX-License-Identifier: Apache-2.0
// Validates reports of all golden traces against docs/verdict.schema.json with python3-jsonschema.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "collector/diagnosis/diagnose.h"
#include "collector/report/json_report.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/text_trace.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;

// The exit code of verdict.py if it cannot validate.
constexpr int kExitSkipped = 77;

TEST(JsonSchema, GoldenReportsAreValid) {
  const std::string root = ROLLCALL_SOURCE_DIR;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const auto& entry : fs::directory_iterator(root + "/tests/golden/verdicts")) {
    const verdict_case::Case golden = verdict_case::Read(entry.path());
    const Trace trace = ParseTextTrace(golden.trace).trace;
    reports.push_back(ReportToJson(trace, Diagnose(trace, golden.options)));
  }
  ASSERT_GT(reports.size(), 50u);
  const TemporaryDirectory directory;
  const std::string path = directory.Write("reports.json", reports.dump());
  const std::string command = "/usr/bin/python3 '" + root + "/tests/schemas/verdict.py' '" + root +
                              "/docs/verdict.schema.json' '" + path + "'";
  const int status = system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kExitSkipped) GTEST_SKIP() << "python3-jsonschema is not installed";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace rollcall
