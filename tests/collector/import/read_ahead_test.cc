// SPDX-License-Identifier: Apache-2.0
#include "collector/import/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace rollcall {
namespace {

TEST(ReadAhead, ReturnsResultsInOrder) {
  for (const unsigned threads : {0u, 1u, 3u}) {
    ReadAhead<std::string> squares(100, threads,
                                   [](size_t index) { return std::to_string(index * index); });
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(squares.Next(), std::to_string(i * i));
  }
}

TEST(ReadAhead, ReadsABoundedNumberAhead) {
  std::atomic<size_t> most{0};
  std::atomic<size_t> taken{0};
  {
    ReadAhead<size_t> numbers(1000, 2, [&](size_t index) {
      most = std::max(most.load(), index - taken.load());
      return index;
    });
    for (size_t i = 0; i < 1000; ++i) {
      numbers.Next();
      taken = i;
    }
  }
  EXPECT_LE(most, 10u) << "what waits to be taken takes memory";
}

TEST(ReadAhead, RethrowsTheExceptionOfAReadInItsPlace) {
  ReadAhead<int> numbers(3, 2, [](size_t index) {
    if (index == 1) throw std::runtime_error("unreadable");
    return static_cast<int>(index);
  });
  EXPECT_EQ(numbers.Next(), 0);
  EXPECT_THROW(numbers.Next(), std::runtime_error);
  EXPECT_EQ(numbers.Next(), 2);
}

TEST(ReadAhead, EndsWithoutWaitingForTheRest) {
  std::atomic<size_t> reads{0};
  {
    ReadAhead<std::unique_ptr<int>> numbers(1'000'000, 2, [&reads](size_t) {
      ++reads;
      return std::make_unique<int>(1);
    });
    numbers.Next();
  }
  EXPECT_LT(reads, 100u);
}

}  // namespace
}  // namespace rollcall
