// SPDX-License-Identifier: Apache-2.0
#include "collector/live/native_variables.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "collector/base/result.h"
#include "collector/base/text.h"
#include "collector/live/unwinder.h"
#include "collector/model/words.h"
#include "collector/symbolize/source_excerpt.h"

namespace rollcall {
namespace {

// The registers of one frame.
struct FrameState {
  const FrameRegisters& registers;
  uint64_t call_frame;  // the stack pointer before the call of the function; 0: unknown

  // Nothing if it is unknown. FrameRegisters does not distinguish an unknown register from one that
  // is 0.
  std::optional<uint64_t> Register(int number) const {
    uint64_t value = 0;
    if (number == DwarfVariable::kCallFrame) {
      value = call_frame;
    } else if (number == FrameRegisters::kStackPointer) {
      value = registers.stack_pointer;
    } else {
      constexpr auto kPreserved = FrameRegisters::kPreserved;
      const auto at = std::ranges::find(kPreserved, static_cast<unsigned>(number));
      if (at == kPreserved.end()) return {};
      value = registers.preserved[static_cast<size_t>(at - kPreserved.begin())];
    }
    return value == 0 ? std::nullopt : std::optional(value);
  }
};

// The lines of source files that were read.
class SourceLines {
 public:
  // Empty if there is no such line, or if the file cannot be read.
  const std::string& Line(const std::string& file, int number) {
    static const std::string kNone;
    const auto [entry, is_new] = files_.try_emplace(file);
    if (is_new) Read(file, &entry->second);
    const auto index = static_cast<size_t>(number) - 1;
    return number > 0 && index < entry->second.size() ? entry->second[index] : kNone;
  }

 private:
  static void Read(const std::string& file, std::vector<std::string>* lines) {
    constexpr size_t kMaxBytes = 4 << 20;
    const Result<SourceText> source = ReadSourceText(file, kMaxBytes);
    if (!source) return;
    std::string_view rest = source->text;
    while (!rest.empty()) lines->emplace_back(TakeUntil('\n', &rest));
  }

  std::map<std::string, std::vector<std::string>> files_;
};

bool IsUnsettled(const DwarfVariable& variable, const SourceFrame& frame, SourceLines* lines) {
  // A call may take several lines. The debug information names one of them.
  constexpr int kBefore = 2;
  constexpr int kAfter = 3;
  const std::string_view suffix = std::string_view(frame.file).substr(frame.file.rfind('.') + 1);
  const bool fortran = suffix.starts_with('f') || suffix.starts_with('F');
  for (int line = frame.line - kBefore; line <= frame.line + kAfter; ++line) {
    if (MayWrite(lines->Line(frame.file, line), variable.name, fortran)) return true;
  }
  return !variable.parameter &&
         !InitializesIn(lines->Line(frame.file, variable.line), variable.name);
}

std::optional<uint64_t> ReadBits(const ProcessMemory& memory, const DwarfVariable& variable,
                                 const FrameState& frame) {
  const std::optional<uint64_t> base = frame.Register(variable.base);
  if (!base) return {};
  uint64_t bits = 0;
  if (variable.in_register) {
    std::memcpy(&bits, &*base, variable.bytes);
    return bits;
  }
  uint64_t address = *base + static_cast<uint64_t>(variable.offset);
  for (int i = 0; i < variable.dereferences; ++i) {
    if (memory.Read(address, &address, sizeof(address)) != sizeof(address)) return {};
  }
  if (memory.Read(address, &bits, variable.bytes) != variable.bytes) return {};
  return bits;
}

std::optional<Variable> ReadVariable(const ProcessMemory& memory, const DwarfVariable& variable,
                                     const FrameState& frame) {
  using Type = DwarfVariable::Type;
  using Kind = Variable::Kind;
  const std::optional<uint64_t> bits = ReadBits(memory, variable, frame);
  if (!bits) return {};
  const unsigned unused = 64 - 8 * variable.bytes;
  switch (variable.type) {
    case Type::kSigned: {
      const int64_t value = static_cast<int64_t>(*bits << unused) >> unused;
      return Variable{variable.name, Kind::kInteger, static_cast<uint64_t>(value)};
    }
    case Type::kUnsigned:
      if (static_cast<int64_t>(*bits) < 0) return {};
      return Variable{variable.name, Kind::kInteger, *bits};
    case Type::kFloat: {
      const double value = variable.bytes == 4 ? std::bit_cast<float>(static_cast<uint32_t>(*bits))
                                               : std::bit_cast<double>(*bits);
      return Variable{variable.name, Kind::kFloat, std::bit_cast<uint64_t>(value)};
    }
    case Type::kBool:
      return Variable{variable.name, Kind::kBool, *bits != 0 ? 1U : 0U};
    case Type::kPointer:
      return Variable{variable.name, Kind::kPointer, *bits != 0 ? 1U : 0U};
  }
  return {};
}

}  // namespace

bool InitializesIn(std::string_view line, std::string_view name) {
  return AnyWord(line, name, [&](size_t at) {
    const std::string_view after = Trim(line.substr(at + name.size()));
    return after.starts_with('{') || (after.starts_with('=') && !after.starts_with("=="));
  });
}

bool MayWrite(std::string_view line, std::string_view name, bool fortran) {
  return AnyWord(line, name,
                 [&](size_t at) { return fortran || Trim(line.substr(0, at)).ends_with('&'); });
}

std::vector<VariablesOfFrame> ReadNativeVariables(const ProcessMemory& memory,
                                                  const LiveThread& thread, Symbolizer* symbolizer,
                                                  bool (*wanted)(const SourceFrame&)) {
  std::vector<VariablesOfFrame> found;  // innermost first
  SourceLines lines;
  for (size_t i = 0; i < std::min(thread.frames.size(), thread.registers.size()); ++i) {
    const FrameState state{thread.registers[i], i + 1 < thread.registers.size()
                                                    ? thread.registers[i + 1].stack_pointer
                                                    : 0};
    std::vector<SourceFrame> frames = symbolizer->Symbolize(thread.frames[i]);
    if (std::ranges::none_of(frames, wanted)) continue;
    const auto variables = symbolizer->VariablesAt(thread.frames[i]);
    for (size_t level = 0; level < frames.size(); ++level) {
      if (!wanted(frames[level])) continue;
      VariablesOfFrame& of_frame = found.emplace_back();
      of_frame.frame = std::move(frames[level]);
      if (level >= variables.size()) continue;
      for (const DwarfVariable& variable : variables[level]) {
        if (auto value = ReadVariable(memory, variable, state)) {
          value->unsettled = IsUnsettled(variable, of_frame.frame, &lines);
          of_frame.variables.push_back(std::move(*value));
        }
      }
    }
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace rollcall
