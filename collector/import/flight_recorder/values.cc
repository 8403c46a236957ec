// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/values.h"

#include <algorithm>
#include <cmath>

#include "collector/base/find.h"

namespace rollcall::flight_recorder {
namespace {

Key FindKey(std::string_view text) {
  static const std::unordered_map<std::string_view, Key> kKeys = {
#define FLIGHT_RECORDER_KEY(identifier, name) {name, Key::k##identifier},
#include "collector/import/flight_recorder/keys.def"
#undef FLIGHT_RECORDER_KEY
  };
  return FindOr(kKeys, text, Key::kOther);
}

}  // namespace

uint32_t StringTable::Add(std::string_view text) {
  if (const uint32_t* known = FindOrNull(index_, text)) return *known;
  const auto index = static_cast<uint32_t>(strings_.size());
  strings_.emplace_back(text);
  keys_.push_back(FindKey(text));
  index_.emplace(strings_.back(), index);
  bytes_ += text.size() + 64;
  return index;
}

Value Values::NewContainer(Value::Type type) {
  containers_.push_back({items_.size(), 0});
  return Value::Of(type, static_cast<uint32_t>(containers_.size() - 1));
}

bool Values::Append(Value container, std::span<const Value> items) {
  if (container.index >= containers_.size()) return true;  // of an entry that was dropped
  Container& to = containers_[container.index];
  if (to.begin + to.count > items_.size()) to.count = 0;
  if (to.count != 0 && to.begin + to.count != items_.size()) {
    // Other items follow this container's: move its items to the end, where it can grow.
    if (size() + to.count > kMaxValues) return false;
    const size_t begin = items_.size();
    items_.resize(begin + to.count);
    std::copy_n(items_.begin() + static_cast<ptrdiff_t>(to.begin), to.count,
                items_.begin() + static_cast<ptrdiff_t>(begin));
    to.begin = begin;
  }
  if (size() + items.size() > kMaxValues) return false;
  if (to.count == 0) to.begin = items_.size();
  items_.insert(items_.end(), items.begin(), items.end());
  to.count += items.size();
  return true;
}

std::span<const Value> Values::Items(Value container) const {
  if (!container.IsContainer() || container.index >= containers_.size()) return {};
  const Container& from = containers_[container.index];
  // Items that an entry appended to an older container were dropped with the entry.
  if (from.begin + from.count > items_.size()) return {};
  return {items_.data() + from.begin, from.count};
}

int64_t Values::IntegerOr(Value value, int64_t otherwise) {
  switch (value.type) {
    case Value::Type::kInt:
    case Value::Type::kBool:
      return value.integer;
    case Value::Type::kFloat:
      return std::abs(value.real) < 9e18 ? static_cast<int64_t>(value.real) : otherwise;
    default:
      return otherwise;
  }
}

std::string_view Values::StringOr(Value value, std::string_view otherwise) const {
  return value.type == Value::Type::kString ? strings.Get(value.index) : otherwise;
}

void Values::EndEntry(bool keep) {
  if (keep) return;
  containers_.resize(entry_begin_.containers);
  items_.resize(entry_begin_.items);
}

}  // namespace rollcall::flight_recorder
