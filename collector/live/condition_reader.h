// SPDX-License-Identifier: Apache-2.0
// Reads from the source files what the conditions of a function name.
#ifndef ROLLCALL_COLLECTOR_LIVE_CONDITION_READER_H_
#define ROLLCALL_COLLECTOR_LIVE_CONDITION_READER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/model/source_blocks.h"
#include "collector/model/source_frame.h"

namespace rollcall {

// Reads each file once. Not thread-safe.
class ConditionReader {
 public:
  // The variables and members that conditions of the frame's function name (ConditionNames); empty
  // if the source cannot be read. File I/O.
  std::vector<std::string> NamesAround(const SourceFrame& frame);

  // The body of the frame's function; nullptr if it is unknown. File I/O. Valid as long as *this.
  const SourceFlow* FunctionOf(const SourceFrame& frame);

 private:
  const std::optional<SourceBlocks>& Blocks(const std::string& file);

  std::map<std::string, std::optional<SourceBlocks>> files_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_CONDITION_READER_H_
