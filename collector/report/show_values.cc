// SPDX-License-Identifier: Apache-2.0
// Shows the values of rollcall_value(), aligned across ranks.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/report/columns.h"
#include "collector/report/show.h"

namespace rollcall {

Shown ShowValues(const AlignedTrace& analysis, int32_t rank) {
  // By name and number: the ranks of each value and place.
  using Values = std::map<std::pair<std::string, std::string>, std::vector<int32_t>>;
  std::map<std::pair<std::string, uint64_t>, Values> all;
  for (const Process& process : analysis.trace.processes) {
    if (rank >= 0 && process.rank != rank) continue;
    for (const NamedValues& values : process.values) {
      for (const RecordedValue& value : values.recent) {
        const std::string place =
            value.call_path == kNoIndex ? "" : PlaceText(analysis.sites.UserFrame(value.call_path));
        all[{values.name, value.number}][{value.Text(), place}].push_back(process.rank);
      }
    }
  }
  Shown shown;
  if (all.empty()) {
    shown.error = rank < 0 ? "no rank has passed a value to rollcall_value()"
                           : fmt::format("rank {} has passed no value to rollcall_value()", rank);
    return shown;
  }
  std::vector<std::vector<std::string>> rows;
  std::string last;
  for (auto& [key, values] : all) {
    for (auto& [what, ranks] : values) {
      Normalize(&ranks);
      rows.push_back({key.first == last ? "" : key.first, fmt::format("#{}", key.second),
                      what.first, values.size() == 1 ? "" : "≠", RanksPhrase(ranks), what.second});
      last = key.first;
    }
  }
  for (const std::string& line : AlignColumns(rows, /*keep_empty=*/true)) {
    shown.text += "  " + line + '\n';
  }
  return shown;
}

}  // namespace rollcall
