// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "collector/attach/base64.h"
#include "collector/attach/stacks.h"
#include "collector/attach/stacks_fields.h"
#include "collector/import/stacks_text.h"

namespace rollcall::attach {
namespace {

using OrderedJson = nlohmann::ordered_json;

class Writer {
 public:
  std::string Write(const HostStacks& stacks, std::string_view rollcall) {
    const StacksHeader header = {.format = std::string(kStacksFormat),
                                 .version = kStacksVersion,
                                 .rollcall = std::string(rollcall),
                                 .host = stacks.host,
                                 .absent = stacks.absent,
                                 .taken_at_ns = stacks.taken_at_ns,
                                 .has_rings = stacks.has_rings};
    text_ = Text(Object(header)) + "\n";
    Line("job", Object(stacks.job));
    for (const SourceBlocks& source : stacks.sources) Line("source", Object(source));
    for (const ObservedRank& rank : stacks.ranks) {
      const OrderedJson object = Object(rank);  // writes the lines of its frames
      Line("rank", object);
    }
    constexpr size_t kPartBytes = 3 << 20;  // whole groups of base64, and lines within the limit
    for (size_t at = 0; at < stacks.records.size(); at += kPartBytes) {
      Line("records", ToBase64(std::string_view(stacks.records).substr(at, kPartBytes)));
    }
    Line("end", stacks.ranks.size());
    return std::move(text_);
  }

 private:
  static std::string Text(const OrderedJson& json) {
    return json.dump(-1, ' ', /*ensure_ascii=*/true, OrderedJson::error_handler_t::replace);
  }
  void Line(const char* kind, const OrderedJson& json) {
    OrderedJson line;
    line[kind] = json;
    text_ += Text(line) + "\n";
  }

  uint32_t NumberOf(const StoredPlace& place) {
    std::string text = Text(Object(place));
    const auto [known, is_new] =
        places_.try_emplace(std::move(text), static_cast<uint32_t>(places_.size()));
    if (is_new) text_ += "{\"frame\":" + known->first + "}\n";
    return known->second;
  }

  // Without members that have their default.
  template <typename Struct>
  OrderedJson Object(const Struct& of) {
    static const Struct kDefault = {};
    OrderedJson object = OrderedJson::object();
    const auto add = [&](const auto& field) {
      if (IsDefault(of.*field.member, kDefault.*field.member)) return;
      object[std::string(field.name)] = Value(of.*field.member);
    };
    std::apply([&](const auto&... fields) { (add(fields), ...); }, FieldsOf<Struct>::kList);
    return object;
  }

  template <typename T>
  static bool IsDefault(const T& value, const T& standard) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>) {
      return value == standard;
    } else if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
    } else if constexpr (requires {
                           value.push_back;
                           value.empty();
                         }) {
      return value.empty();
    } else {
      return false;
    }
  }

  OrderedJson Value(const LiveFrame& live) {
    // All members; variables of other kinds than integers are not stored.
    const auto& [frame, digest, integers, build_id, variables] = live;
    return Object(StoredFrame{NumberOf({frame, build_id}), digest, integers});
  }
  template <typename T>
  OrderedJson Value(const std::optional<T>& value) {
    return Value(*value);
  }
  template <typename T>
  OrderedJson Value(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<uint64_t>(value);
    } else if constexpr (requires { value.begin(); }) {
      OrderedJson list = OrderedJson::array();
      for (const auto& one : value) list.push_back(Value(one));
      return list;
    } else {
      return Object(value);
    }
  }

  std::string text_;
  std::unordered_map<std::string, uint32_t> places_;  // index by text
};

}  // namespace

std::string WriteStacks(const HostStacks& stacks, std::string_view rollcall) {
  return Writer().Write(stacks, rollcall);
}

}  // namespace rollcall::attach
