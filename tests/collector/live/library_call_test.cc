// SPDX-License-Identifier: Apache-2.0
#include "collector/live/library_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LibraryCallTest, MergesTwoSamples) {
  LibraryCall call{.communicator = "a", .member_runs = {}, .of_collective = false, .awaited = -1};
  EXPECT_TRUE(Merge(
      {.communicator = "", .member_runs = {0, 3}, .of_collective = true, .awaited = 2}, &call));
  EXPECT_EQ(call.communicator, "a");
  EXPECT_THAT(call.member_runs, ElementsAre(0, 3));
  EXPECT_TRUE(call.of_collective);
  EXPECT_EQ(call.awaited, 2);
  EXPECT_FALSE(
      Merge({.communicator = "b", .member_runs = {}, .of_collective = false, .awaited = 2}, &call));
  EXPECT_FALSE(
      Merge({.communicator = "a", .member_runs = {}, .of_collective = false, .awaited = 1}, &call));
}

TEST(LibraryCallTest, DoesNotChangeTheCallersRegisters) {
  CallFrame caller;
  caller.registers.preserved = {1, 2, 3};
  CallFrame frame = caller;
  EXPECT_THAT(ChangedRegisters(frame, caller), IsEmpty());
  frame.registers.preserved = {1, 7, 0, 9};
  EXPECT_THAT(ChangedRegisters(frame, caller), ElementsAre(7, 9));
}

}  // namespace
}  // namespace rollcall
