// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace rollcall::attach {
namespace {

// RFC 4648, section 10.
TEST(Base64, EncodesTheExamplesOfTheStandard) {
  EXPECT_EQ(ToBase64(""), "");
  EXPECT_EQ(ToBase64("f"), "Zg==");
  EXPECT_EQ(ToBase64("fo"), "Zm8=");
  EXPECT_EQ(ToBase64("foo"), "Zm9v");
  EXPECT_EQ(ToBase64("foob"), "Zm9vYg==");
  EXPECT_EQ(ToBase64("\xfb\xff\xfe"), "+//+");
}

TEST(Base64, RoundTripsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
  }
}

TEST(Base64, RejectsInvalidText) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Zm8=Zm8=", "Zm 8", "Zm9v\n", "=Zm9",
                           "Z===", "Zm9v====", "Zm9\xc3"}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace rollcall::attach
