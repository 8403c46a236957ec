// SPDX-License-Identifier: Apache-2.0
// The parsers of source_blocks.cc for each language, and the functions that they share.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_LANGUAGES_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_LANGUAGES_H_

#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "collector/model/source_blocks.h"
#include "collector/model/words.h"

namespace rollcall::source_languages {

using BlockKind = SourceBlock::Kind;
using FlowKind = SourceFlow::Kind;

// Each language has its own file. Empty if the text is not understood.
std::optional<SourceBlocks> BlocksByBraces(std::string_view text);       // C and C++
std::optional<SourceBlocks> BlocksByIndentation(std::string_view text);  // Python
std::optional<SourceBlocks> BlocksByEnds(std::string_view text);         // Fortran

inline bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
std::string_view FirstWord(std::string_view code);

// Extracts the comparable part of an arm's condition: "rank == 0", "rank != 0", "rank .eq. 0", with
// or without parentheses.
void SetCondition(std::string_view condition, SourceBlock* arm);

// A condition as SourceFlow has it: on one line, and not too long.
inline constexpr size_t kMaxConditionBytes = 60;
std::string ConditionText(std::string_view condition, size_t max_bytes = kMaxConditionBytes);

// Adds a condition, unless its text is empty.
void AddCondition(int first, int last, std::string_view text, SourceBlocks* found);

// Whether a call of that name ends the program.
bool EndsProgram(std::string_view function);

// Blanks preprocessor lines. Of an #if with an #else, it also blanks the parts after the first,
// because both parts may open the same brace.
std::string WithoutDirectives(std::string_view text);

}  // namespace rollcall::source_languages

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_LANGUAGES_H_
