// SPDX-License-Identifier: Apache-2.0
// Finds the loops, branches and exits of source files.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_BLOCKS_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collector/model/source_blocks.h"

namespace rollcall {

enum class SourceSyntax : uint8_t { kBraces, kPython, kFortran };

// By the file name; empty for an unknown suffix.
std::optional<SourceSyntax> SyntaxOf(std::string_view file);

// Empty if the text is not understood: unbalanced brackets, or an `end` without its beginning. Of
// an #if with an #else, only the first part is read.
std::optional<SourceBlocks> FindSourceBlocks(std::string_view text, SourceSyntax syntax);

// Reads `file`; empty if it does not exist, is too large, is not text or is not understood. File
// I/O.
std::optional<SourceBlocks> ReadSourceBlocks(const std::string& file);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_BLOCKS_H_
