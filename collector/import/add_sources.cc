// SPDX-License-Identifier: Apache-2.0
#include "collector/import/add_sources.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/matching/user_code.h"
#include "collector/symbolize/source_blocks.h"

namespace rollcall {
namespace {

constexpr size_t kMaxSourceFiles = 256;

}  // namespace

void AddSources(Trace* trace) {
  std::set<std::string> files;
  for (const SourceBlocks& source : trace->sources) files.insert(source.file);
  for (const Code& code : trace->codes) {
    for (const SourceFrame& frame : code.frames) {
      if (!IsUserLine(frame) || files.size() == kMaxSourceFiles) continue;
      if (!files.insert(frame.file).second) continue;
      std::optional<SourceBlocks> blocks = ReadSourceBlocks(frame.file);
      if (blocks) trace->sources.push_back(std::move(*blocks));
    }
  }
}

}  // namespace rollcall
