// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/source_blocks.h"

#include <algorithm>

#include "collector/base/result.h"
#include "collector/base/text.h"
#include "collector/symbolize/source_excerpt.h"
#include "collector/symbolize/source_languages.h"

namespace rollcall {
namespace {

constexpr size_t kMaxSourceBytes = 4 << 20;

}  // namespace

std::optional<SourceSyntax> SyntaxOf(std::string_view file) {
  const size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string end = ToLower(file.substr(dot + 1));
  constexpr std::string_view kBraces[] = {"c",   "cc",  "cpp", "cxx", "c++", "h",   "hh",
                                          "hpp", "hxx", "cu",  "cuh", "inl", "ipp", "tcc"};
  constexpr std::string_view kFortran[] = {"f90", "f95", "f03", "f08", "f18"};
  const auto is = [&end](std::string_view one) { return one == end; };
  if (std::ranges::any_of(kBraces, is)) return SourceSyntax::kBraces;
  if (std::ranges::any_of(kFortran, is)) return SourceSyntax::kFortran;
  if (end == "py") return SourceSyntax::kPython;
  return std::nullopt;
}

std::optional<SourceBlocks> FindSourceBlocks(std::string_view text, SourceSyntax syntax) {
  switch (syntax) {
    case SourceSyntax::kBraces:
      return source_languages::BlocksByBraces(text);
    case SourceSyntax::kPython:
      return source_languages::BlocksByIndentation(text);
    case SourceSyntax::kFortran:
      return source_languages::BlocksByEnds(text);
  }
  return std::nullopt;
}

std::optional<SourceBlocks> ReadSourceBlocks(const std::string& file) {
  const std::optional<SourceSyntax> syntax = SyntaxOf(file);
  if (!syntax) return std::nullopt;
  const Result<SourceText> source = ReadSourceText(file, kMaxSourceBytes);
  if (!source) return std::nullopt;
  std::optional<SourceBlocks> blocks = FindSourceBlocks(source->text, *syntax);
  if (blocks) blocks->file = file;
  return blocks;
}

}  // namespace rollcall
