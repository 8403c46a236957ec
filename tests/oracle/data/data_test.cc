// SPDX-License-Identifier: Apache-2.0
// Repeats a sample of the comparisons of tests/oracle/run --of data as a test.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/oracle/data/judge.h"
#include "tests/support/sanitizers.h"

namespace rollcall::oracle::data {
namespace {

TEST(Data, FindingsAgreeWithTheOracleOnASample) {
  constexpr uint64_t kSeed = 20;
  constexpr uint64_t kPrograms = Rounds(100) * kFaultKinds;
  Counted counted;
  for (uint64_t number = 0; number < kPrograms; ++number) {
    const OneRun one = RunOne(kSeed, number);
    counted.Add(one);
    EXPECT_EQ(one.comparison.violations, std::vector<std::string>{})
        << "tests/oracle/run --of data --one " << kSeed << ":" << number << "\n"
        << Show(one);
  }
  EXPECT_GT(counted.all.took_effect * 2, kPrograms) << "too few faults to say anything";
  if (!kSanitized) {
    EXPECT_EQ(Shortfalls(counted), "");
  }
}

TEST(Data, RunsDependOnTheSeedOnly) {
  for (uint64_t number = 0; number < kFaultKinds; ++number) {
    EXPECT_EQ(Show(RunOne(3, number)), Show(RunOne(3, number)));
  }
  EXPECT_NE(Show(RunOne(3, 1)), Show(RunOne(4, 1)));
}

}  // namespace
}  // namespace rollcall::oracle::data
