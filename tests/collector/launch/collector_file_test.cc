// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/collector_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

TEST(CollectorFile, IsReadBackAndRemoved) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(ReadCollectorFile(directory.path()));
  ASSERT_TRUE(WriteCollectorFile(directory.path(), {.address = "h:1", .token = "old"}));
  ASSERT_TRUE(WriteCollectorFile(directory.path(), {.address = "host:7", .token = "secret"}));
  const auto access = ReadCollectorFile(directory.path());
  ASSERT_TRUE(access);
  EXPECT_EQ(access->address, "host:7");
  EXPECT_EQ(access->token, "secret");
  struct stat status;
  ASSERT_EQ(stat((directory.path() + "/collector").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  RemoveCollectorFile(directory.path());
  EXPECT_FALSE(ReadCollectorFile(directory.path()));
}

TEST(CollectorFile, IsRefusedIfOthersCouldHaveWrittenIt) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/collector";
  ASSERT_TRUE(WriteCollectorFile(directory.path(), {.address = "h:1", .token = "t"}));
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_FALSE(ReadCollectorFile(directory.path()));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(rename(path.c_str(), (path + ".moved").c_str()), 0);
  ASSERT_EQ(symlink((path + ".moved").c_str(), path.c_str()), 0);
  EXPECT_FALSE(ReadCollectorFile(directory.path()));
}

TEST(CollectorFile, IsRefusedIfItIsCutOrTooLong) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(WriteCollectorFile(directory.path(), {.address = "a:1", .token = "t"}));
  ASSERT_EQ(truncate((directory.path() + "/collector").c_str(), 5), 0);
  EXPECT_FALSE(ReadCollectorFile(directory.path()));
  ASSERT_TRUE(
      WriteCollectorFile(directory.path(), {.address = std::string(2000, 'a'), .token = "t"}));
  EXPECT_FALSE(ReadCollectorFile(directory.path()));
}

}  // namespace
}  // namespace rollcall
