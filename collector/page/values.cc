// SPDX-License-Identifier: Apache-2.0
#include "collector/page/values.h"

#include <algorithm>

#include "collector/base/assert.h"
#include "collector/base/text.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "collector/report/show_call.h"

namespace rollcall::page {
namespace {

constexpr size_t kMaxTextBytes = 2048;
constexpr size_t kMaxRanksBytes = 160;
constexpr size_t kMaxCalls = 1500;

}  // namespace

std::string Text(std::string_view raw) { return CleanText(raw, kMaxTextBytes, /*tab_width=*/8); }

Json Ranks(const std::vector<int32_t>& ranks) {
  ROLLCALL_ASSERT(std::ranges::is_sorted(ranks));
  std::string text = ranks.empty() ? "" : FoldRanks(ranks);
  if (text.size() > kMaxRanksBytes) {
    text.resize(text.rfind(',', kMaxRanksBytes));
    text += ",…";
  }
  return {{"text", std::move(text)}, {"count", ranks.size()}};
}

Json Calls::NumberOf(const Event& event) {
  const uint64_t key = KeyOf(event);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  Row row(ShownCall(analysis_, event, /*numbered=*/false), ShownPlace(analysis_, event),
          ShownFunction(analysis_, event));
  auto at = rows_.find(row);
  if (at == rows_.end()) {
    if (rows_.size() == kMaxCalls) {
      full_ = true;
      return nullptr;
    }
    table_.push_back({{"operation", OperationName(analysis_.Op(event))},
                      {"text", Text(std::get<0>(row))},
                      {"place", Text(std::get<1>(row))},
                      {"function", Text(std::get<2>(row))}});
    at = rows_.emplace(std::move(row), rows_.size()).first;
  }
  return known_[key] = at->second;
}

}  // namespace rollcall::page
