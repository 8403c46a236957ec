// SPDX-License-Identifier: Apache-2.0
#include "collector/import/python_import.h"

#include <fmt/core.h>

#include <utility>

#include "collector/base/text.h"
#include "collector/symbolize/python_lines.h"

namespace rollcall {
namespace {

constexpr int kMaxFrameProblems = 3;
constexpr size_t kMaxPythonNameBytes = 512;
constexpr size_t kMaxPythonPathBytes = 4096;

SourceFrame Unreadable(std::string why) {
  SourceFrame frame;
  frame.language = Language::kPython;
  frame.note = std::move(why);
  return frame;
}

}  // namespace

void PythonImport::Read(uint64_t index, const RingSnapshot::PathView& view, CallPath* path) {
  path->python_end = static_cast<ring::PythonEnd>(view.header.python_end);
  const uint64_t path_at = ring_.path_words_at + index * sizeof(uint64_t);
  if (view.python_damaged) {
    AddProblem(path_at, "damaged: a call path's Python frames are not there; its native ones are");
  }
  path->python.reserve(view.python.size());
  const uint64_t first_word_at =
      path_at + sizeof(ring::CallPathHeader) + view.frames.size() * sizeof(uint64_t);
  for (size_t i = 0; i < view.python.size(); ++i) {
    const uint64_t word = view.python[i];
    path->python.push_back({Code(word & ~ring::kPythonFrameEntry, first_word_at + i * sizeof(word)),
                            (word & ring::kPythonFrameEntry) != 0});
  }
}

uint32_t PythonImport::Code(uint64_t word, uint64_t word_at) {
  const auto [entry, is_new] = codes_.try_emplace(word, kNoIndex);
  if (is_new) entry->second = interner_.PythonCode(Frame(word, word_at), word);
  return entry->second;
}

SourceFrame PythonImport::Frame(uint64_t word, uint64_t word_at) {
  const uint64_t number = word >> ring::kPythonFrameCodeShift;
  if (number == 0) return Unreadable("the ring had no room for this Python code");
  if (number > ring_.python_code.size()) {
    AddProblem(word_at, fmt::format("damaged: a frame of Python code {}, of {}", number - 1,
                                    ring_.python_code.size()));
    return Unreadable("unreadable");
  }
  const ring::PythonCode& code = ring_.python_code[number - 1];
  if (code.portable_hash == 0) {
    AddProblem(word_at, fmt::format("a frame of Python code {}, which is damaged or was never "
                                    "written to its end",
                                    number - 1));
    return Unreadable("unreadable");
  }
  SourceFrame frame;
  frame.language = Language::kPython;
  frame.function = CleanText(ring_.String(code.name), kMaxPythonNameBytes);
  if (frame.function.empty()) frame.function = "?";
  frame.file = CleanText(ring_.String(code.file), kMaxPythonPathBytes);
  frame.detail = FrameDetail::kSymbol;
  const auto offset = static_cast<uint32_t>(word & ring::kPythonFrameOffsetMask);
  if (offset == ring::kPythonFrameNoOffset) {
    frame.line = code.first_line <= INT32_MAX ? static_cast<int>(code.first_line) : 0;
    frame.note = "not started";
  } else if (code.line_table == 0) {
    frame.note = "its line table was not kept";
  } else {
    frame.line = PythonLine(code.version, ring_.String(code.line_table), code.first_line, offset);
  }
  if (frame.line != 0) frame.detail = FrameDetail::kSourceLine;
  return frame;
}

void PythonImport::AddProblem(uint64_t offset, std::string message) {
  if (++problem_count_ > kMaxFrameProblems) return;
  problems_.push_back(
      {ProblemCode::kDamaged, std::move(message), ring_.source, static_cast<int64_t>(offset)});
}

}  // namespace rollcall
