// SPDX-License-Identifier: Apache-2.0
// Values that all panels of a page use.
#ifndef ROLLCALL_COLLECTOR_PAGE_VALUES_H_
#define ROLLCALL_COLLECTOR_PAGE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"

namespace rollcall::page {

using Json = nlohmann::ordered_json;

// Cleans text from the job: see CleanText().
std::string Text(std::string_view raw);

// data.ts, Ranks. `ranks` is increasing.
Json Ranks(const std::vector<int32_t>& ranks);

// The table of calls that the panels refer to by number.
class Calls {
 public:
  explicit Calls(const AlignedTrace& analysis) : analysis_(analysis) {}

  // Equal for calls that share an entry.
  static uint64_t KeyOf(const Event& event) {
    return uint64_t{event.arguments} << 32 | event.call_path;
  }
  // The number of the call, or null if the table is full.
  Json NumberOf(const Event& event);
  Json Take() { return std::move(table_); }
  bool full() const { return full_; }

 private:
  using Row = std::tuple<std::string, std::string, std::string>;  // text, place, function

  const AlignedTrace& analysis_;
  std::unordered_map<uint64_t, Json> known_;  // by KeyOf()
  std::map<Row, size_t> rows_;
  Json table_ = Json::array();
  bool full_ = false;
};

}  // namespace rollcall::page

#endif  // ROLLCALL_COLLECTOR_PAGE_VALUES_H_
