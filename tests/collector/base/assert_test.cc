// SPDX-License-Identifier: Apache-2.0
#include "collector/base/assert.h"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

TEST(AssertDeathTest, AbortsWithFileLineAndExpression) {
  const int ranks = 2;
  EXPECT_DEATH(ROLLCALL_ASSERT_ON(ranks == 3),
               "assert_test\\.cc:[0-9]+: assertion failed: ranks == 3");
}

TEST(Assert, EvaluatesOnceIfOn) {
  int evaluated = 0;
  ROLLCALL_ASSERT_ON(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(Assert, DoesNotEvaluateIfOff) {
  int evaluated = 0;
  ROLLCALL_ASSERT_OFF(++evaluated == 2);
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace rollcall
