// SPDX-License-Identifier: Apache-2.0
#include "collector/base/proc_stat.h"

#include <gtest/gtest.h>

#include <string_view>

namespace rollcall {
namespace {

// Fields 1 to 22 of a program whose name looks like the end of a name.
constexpr std::string_view kStat =
    "42 (a) Z (b) S 7 42 42 0 -1 4194560 100 0 0 0 11 12 0 0 20 0 3 0 987654\n";

TEST(ProcStat, CountsFieldsAfterTheProgramName) {
  EXPECT_EQ(ProcStatField(kStat, 3), "S");
  EXPECT_EQ(ProcStatField(kStat, 4), "7");
  EXPECT_EQ(ProcStatField(kStat, 22), "987654");
  EXPECT_EQ(ProcStatStartTicks(kStat), 987654u);
}

TEST(ProcStat, MissingFieldsAreEmpty) {
  EXPECT_EQ(ProcStatField(kStat, 23), "");
  EXPECT_EQ(ProcStatField("", 3), "");
  EXPECT_EQ(ProcStatField("42 (cut", 3), "");
  EXPECT_EQ(ProcStatStartTicks("42 (cut) S 7"), 0u);
}

}  // namespace
}  // namespace rollcall
