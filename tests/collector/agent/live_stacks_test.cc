// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/live_stacks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/process_table.h"

namespace rollcall::agent {
namespace {

// A process that has ended and for which no process has waited: the agent may sample a rank in this
// state before it learns that the rank has ended.
TEST(LiveStacksTest, EndedProcessHasNoStacks) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  siginfo_t ended = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  Symbolizer symbolizer;
  EXPECT_TRUE(
      TakeLiveStacks(child, ProcessStartTicks(child), false, false, &symbolizer).stacks.empty());
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace rollcall::agent
