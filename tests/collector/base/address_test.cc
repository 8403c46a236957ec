// SPDX-License-Identifier: Apache-2.0
#include "collector/base/address.h"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

TEST(AddressTest, AddressWithoutPortGetsPort0) {
  EXPECT_EQ(WithPort("node1"), "node1:0");
  EXPECT_EQ(WithPort("node1:80"), "node1:80");
  EXPECT_EQ(WithPort("[::1]"), "[::1]:0");
  EXPECT_EQ(WithPort("[::1]:80"), "[::1]:80");
}

TEST(AddressTest, HostOfAnIPv6AddressHasNoBrackets) {
  EXPECT_EQ(SplitAddress("[::1]:80").host, "::1");
  EXPECT_EQ(SplitAddress("[::1]:80").port, "80");
  EXPECT_EQ(ReplacePort("[::1]:80", 90), "[::1]:90");
}

TEST(AddressTest, OnlyLoopbackAddressesAreLoopback) {
  for (const char* host : {"localhost", "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"node1", "128.0.0.1", "10.0.0.127", "::", "::2", "::ffff:10.0.0.1", "",
                           "localhost.example.org", "0.0.0.0"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace rollcall
