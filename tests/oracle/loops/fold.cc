// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rollcall::oracle::loops {
namespace {

// More lines than a round of the largest programs has.
constexpr size_t kLongestBlock = 1500;

// Returns how often the `length` elements from `begin` follow each other.
size_t Times(const std::vector<int>& order, size_t begin, size_t length) {
  size_t times = 1;
  const auto first = order.begin() + static_cast<ptrdiff_t>(begin);
  const auto count = static_cast<ptrdiff_t>(length);
  auto next = first + count;
  while (std::distance(next, order.end()) >= count && std::equal(first, first + count, next)) {
    ++times;
    next += count;
  }
  return times;
}

}  // namespace

std::string Fold(const std::vector<std::string>& lines, const std::vector<int>& order) {
  std::string text;
  for (size_t i = 0; i < order.size();) {
    size_t length = 1;
    size_t times = 1;
    for (size_t l = 1; l <= kLongestBlock && i + 2 * l <= order.size(); ++l) {
      if (order[i] != order[i + l]) continue;
      times = Times(order, i, l);
      length = l;
      if (times > 1) break;
    }
    if (times == 1) length = 1;
    if (times > 1) text += fmt::format("repeat {}\n", times);
    for (size_t k = 0; k < length; ++k) {
      text += (times > 1 ? "  " : "") + lines[static_cast<size_t>(order[i + k])] + '\n';
    }
    if (times > 1) text += "end\n";
    i += length * times;
  }
  return text;
}

}  // namespace rollcall::oracle::loops
