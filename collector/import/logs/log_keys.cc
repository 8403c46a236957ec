// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_keys.h"

#include <algorithm>
#include <utility>

namespace rollcall::logs {
namespace {

std::vector<std::string> ShortestFirst(std::vector<std::string> keys) {
  std::ranges::stable_sort(
      keys, [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return keys;
}

}  // namespace

LogKeys::LogKeys(std::vector<std::string> keys)
    : keys_(ShortestFirst(std::move(keys))),
      window_(std::min<size_t>(keys_.front().size(), UINT8_MAX)) {
  skip_.fill(static_cast<uint8_t>(window_ - kGram + 1));
  for (size_t i = 0; i < keys_.size(); ++i) {
    const std::string& key = keys_[i];
    for (size_t at = 0; at + kGram <= window_; ++at) {
      uint8_t& skip = skip_[Slot(key.data() + at)];
      skip = std::min(skip, static_cast<uint8_t>(window_ - kGram - at));
    }
    by_begin_[std::string_view(key).substr(0, window_)].push_back(i);
  }
}

size_t LogKeys::Slot(const char* gram) {
  const auto byte = [gram](size_t i) { return uint32_t{static_cast<unsigned char>(gram[i])}; };
  constexpr uint32_t kMultiplier = 2654435761;  // 2^32 by the golden ratio (Knuth, 6.4)
  return ((byte(0) | byte(1) << 8 | byte(2) << 16) * kMultiplier) >> 18;
}

std::optional<KeyFound> LogKeys::Find(std::string_view text, size_t from) const {
  size_t at = from;
  while (at + window_ <= text.size()) {
    const size_t skip = skip_[Slot(text.data() + at + window_ - kGram)];
    at += skip;
    if (skip > 0) continue;
    const auto candidates = by_begin_.find(text.substr(at, window_));
    if (candidates != by_begin_.end()) {
      for (const size_t i : candidates->second) {
        if (text.substr(at).starts_with(keys_[i])) return KeyFound{at, keys_[i].size()};
      }
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace rollcall::logs
