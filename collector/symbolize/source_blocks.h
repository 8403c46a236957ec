// Finds the loops and branches of source files.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_BLOCKS_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/source_blocks.h"

namespace rollcall {

enum class SourceSyntax : uint8_t { kBraces, kPython, kFortran };

// By the file's name; none where it ends in nothing known.
std::optional<SourceSyntax> SyntaxOf(std::string_view file);

// None if the text is not understood: brackets that do not match, an `end` without its beginning.
// Of #if and #else only the first part is read.
std::optional<std::vector<SourceBlock>> FindSourceBlocks(std::string_view text,
                                                         SourceSyntax syntax);

// Reads `file`; none if it is not there, too large, no text, or not understood. Does file I/O.
std::optional<std::vector<SourceBlock>> ReadSourceBlocks(const std::string& file);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_BLOCKS_H_
