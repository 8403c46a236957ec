// SPDX-License-Identifier: Apache-2.0
#include "collector/watch/watched_job.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "collector/base/file.h"

namespace rollcall {
namespace {

uint64_t FileLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur;
}

// A process may run one job after another.
TEST(WatchedJob, LeavesTheUsersFileLimit) {
  const uint64_t before = FileLimit();
  SetFileLimit(before - 1);
  { const WatchedJob job(WatchSettings{}); }
  EXPECT_EQ(FileLimit(), before - 1);
  SetFileLimit(before);
}

}  // namespace
}  // namespace rollcall
