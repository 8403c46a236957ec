// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_keys.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::logs {
namespace {

// What the class promises, in the obvious way.
std::optional<KeyFound> Obvious(const std::vector<std::string>& keys, std::string_view text,
                                size_t from) {
  for (size_t at = from; at < text.size(); ++at) {
    std::optional<KeyFound> found;
    for (const std::string& key : keys) {
      const bool shorter = !found || key.size() < found->size;
      if (text.substr(at).starts_with(key) && shorter) found = {at, key.size()};
    }
    if (found) return found;
  }
  return std::nullopt;
}

TEST(LogKeys, FindsTheFirstKey) {
  const LogKeys keys({"srun: error", "comm 0x"});
  const auto found = keys.Find("step=12 loss=0.3 srun: error comm 0x", 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at, 17u);
  EXPECT_EQ(found->size, 11u);
  EXPECT_EQ(keys.Find("step=12 loss=0.3 srun: error comm 0x", 18)->at, 29u);
}

TEST(LogKeys, AKeyThatTheEndCutsIsNotFound) {
  const LogKeys keys({"srun: error", "comm 0x"});
  EXPECT_FALSE(keys.Find("srun: erro", 0));
  EXPECT_FALSE(keys.Find("comm 0", 0));
  EXPECT_FALSE(keys.Find("", 0));
  EXPECT_FALSE(keys.Find("comm 0x", 20));
}

TEST(LogKeys, FindsWhatAnObviousSearchFinds) {
  std::mt19937 random(7);
  const auto below = [&random](size_t end) { return random() % end; };
  const auto text_of = [&](size_t size) {
    std::string text;
    while (text.size() < size) text += "abc"[below(3)];
    return text;
  };
  size_t found_any = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> keys;
    for (size_t count = 1 + below(8); keys.size() < count;) keys.push_back(text_of(3 + below(8)));
    const LogKeys search(keys);
    const std::string text = text_of(below(60));
    for (size_t from = 0; from <= text.size(); ++from) {
      const auto expected = Obvious(keys, text, from);
      const auto found = search.Find(text, from);
      ASSERT_EQ(found.has_value(), expected.has_value()) << text << " from " << from;
      if (!found) continue;
      ++found_any;
      EXPECT_EQ(found->at, expected->at);
      EXPECT_EQ(found->size, expected->size);
    }
  }
  EXPECT_GT(found_any, 10000u);
}

}  // namespace
}  // namespace rollcall::logs
