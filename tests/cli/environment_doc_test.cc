// SPDX-License-Identifier: Apache-2.0
// docs/environment.md must list the variables exactly as proto/environment.h defines them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "proto/environment.h"

namespace rollcall {
namespace {

TEST(EnvironmentDocTest, ListsEveryVariableAndNoOther) {
  std::vector<std::string> expected;
#define X(identifier, variable, default_value, meaning)                                            \
  expected.push_back("| `" + std::string(variable) + "` | " + std::string(default_value) + " | " + \
                     std::string(meaning) + " |");
  ROLLCALL_ENVIRONMENT(X)
#undef X
  std::ifstream file(ROLLCALL_SOURCE_DIR "/docs/environment.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `ROLLCALL_")) rows.push_back(line);
  }
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace rollcall
