// SPDX-License-Identifier: Apache-2.0
// Determines the rank of a file from its name.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_RANK_PATTERN_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_RANK_PATTERN_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "collector/base/result.h"

namespace rollcall::flight_recorder {

struct NamedRank {
  int32_t rank = -1;   // -1: the name has none
  std::string prefix;  // of the name, up to the rank
};

// Extracts ranks from file names.
class RankPattern {
 public:
  // The last digits of the name, extensions aside: "_dump_12", "nccl_trace_rank_node7_12",
  // "_dump_12.json".
  RankPattern() = default;
  // A regular expression (ECMAScript) with one group, the rank, that is searched for in the file
  // name.
  static Result<RankPattern> Parse(const std::string& pattern);

  NamedRank Find(std::string_view file_name) const;

 private:
  std::string pattern_;
};

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_RANK_PATTERN_H_
