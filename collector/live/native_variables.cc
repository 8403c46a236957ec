// SPDX-License-Identifier: Apache-2.0
#include "collector/live/native_variables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "collector/base/result.h"
#include "collector/base/text.h"
#include "collector/live/condition_reader.h"
#include "collector/live/unwinder.h"
#include "collector/model/condition_names.h"
#include "collector/model/words.h"
#include "collector/symbolize/source_excerpt.h"

namespace rollcall {
namespace {

// The registers of one frame.
struct FrameState {
  const FrameRegisters& registers;
  uint64_t call_frame;  // the stack pointer before the call of the function; 0: unknown
  uint64_t bias;        // runtime address - ELF address; 0: unknown, or none
  bool program;         // the code is the program's own, not that of a library

  // Nothing if it is unknown.
  std::optional<uint64_t> Base(const DwarfVariable& variable) const {
    if (variable.base == DwarfVariable::kModule) {
      // A variable of a library is not the one in use if the program has one with the same name.
      if (variable.exported && !program) return std::nullopt;
      return bias;
    }
    return Register(variable.base);
  }

  std::optional<uint64_t> Register(int number) const {
    const auto known = [](uint64_t value) {
      return value == 0 ? std::nullopt : std::optional(value);
    };
    if (number == DwarfVariable::kCallFrame) return known(call_frame);
    if (number == FrameRegisters::kStackPointer) return known(registers.stack_pointer);
    constexpr auto kPreserved = FrameRegisters::kPreserved;
    const auto at = std::ranges::find(kPreserved, static_cast<unsigned>(number));
    if (at == kPreserved.end()) return std::nullopt;
    const auto index = static_cast<size_t>(at - kPreserved.begin());
    return registers.known[index] ? std::optional(registers.preserved[index]) : std::nullopt;
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

// The next word of the text, which is taken from its front; empty: there is none.
std::string_view TakeWord(std::string_view* text) {
  const auto begin = std::ranges::find_if(*text, IsWordChar);
  const auto end = std::find_if_not(begin, text->end(), IsWordChar);
  const std::string_view word(begin, end);
  *text = std::string_view(end, text->end());
  return word;
}

// Whether the declaration of the variable ends before the line of the call. So, too, if that is
// not known.
bool IsDeclaredBefore(const DwarfVariable& variable, const SourceFrame& frame, SourceLines* lines) {
  if (variable.base == DwarfVariable::kModule || variable.parameter || variable.line <= 0 ||
      IsFortran(frame.file)) {
    return true;
  }
  // Of a member, the variable that it is in.
  std::string_view name = variable.name;
  name = name.substr(0, name.find_first_of("-."));
  for (int line = variable.line; line < frame.line; ++line) {
    const std::string& text = lines->Line(frame.file, line);
    if (line == variable.line && !AnyWord(text, name, [](size_t) { return true; })) return true;
    if (EndsDeclaration(text, name)) return true;
    name = {};
  }
  return false;
}

bool IsUnsettled(const DwarfVariable& variable, const SourceFrame& frame, SourceLines* lines) {
  // A call may take several lines. The debug information names one of them.
  constexpr int kBefore = 2;
  constexpr int kAfter = 3;
  const bool fortran = IsFortran(frame.file);
  for (int line = frame.line - kBefore; line <= frame.line + kAfter; ++line) {
    if (MayWrite(lines->Line(frame.file, line), variable.name, fortran)) return true;
  }
  return !variable.parameter &&
         !InitializesIn(lines->Line(frame.file, variable.line), variable.name);
}

std::optional<uint64_t> ReadBits(const ProcessMemory& memory, const DwarfVariable& variable,
                                 const FrameState& frame) {
  using Type = DwarfVariable::Type;
  uint64_t bits = 0;
  if (!variable.computed.empty()) {
    const DwarfState state{[&](int number) { return frame.Register(number); },
                           [&](uint64_t address, uint32_t bytes) -> std::optional<uint64_t> {
                             uint64_t word = 0;
                             if (memory.Read(address, &word, bytes) != bytes) return {};
                             return word;
                           }};
    const std::optional<uint64_t> computed = EvaluateDwarf(variable.computed, state);
    if (computed) std::memcpy(&bits, &*computed, variable.bytes);
    return computed ? std::optional(bits) : std::nullopt;
  }
  const std::optional<uint64_t> base =
      variable.type == Type::kLost ? std::nullopt : frame.Base(variable);
  if (!base) return {};
  if (variable.in_register) {
    std::memcpy(&bits, &*base, variable.bytes);
    return bits;
  }
  uint64_t address = *base + static_cast<uint64_t>(variable.offset);
  for (const int64_t offset : variable.further) {
    if (memory.Read(address, &address, sizeof(address)) != sizeof(address)) return {};
    address += static_cast<uint64_t>(offset);
  }
  if (variable.type == Type::kElements) {
    std::array<uint64_t, 2> ends{};
    if (memory.Read(address, ends.data(), sizeof(ends)) != sizeof(ends)) return {};
    const uint64_t size = ends[1] - ends[0];
    if (ends[1] < ends[0] || size % variable.element_bytes != 0) return {};
    return size / variable.element_bytes;
  }
  if (memory.Read(address, &bits, variable.bytes) != variable.bytes) return {};
  if (variable.bit_size == 0) return bits;
  bits = bits << (64 - variable.bit_offset - variable.bit_size);
  // As a value of all bytes, with its sign.
  bits = variable.type == Type::kSigned
             ? static_cast<uint64_t>(static_cast<int64_t>(bits) >> (64 - variable.bit_size))
             : bits >> (64 - variable.bit_size);
  return bits;
}

// Whether a function of C++ may get the variable by reference.
bool IsPassed(std::string_view line, std::string_view name) {
  return AnyWord(line, name, [&](size_t at) {
    const std::string_view before = Trim(line.substr(0, at));
    const std::string_view after = Trim(line.substr(at + name.size()));
    return (before.ends_with('(') || before.ends_with(',')) &&
           (after.starts_with(')') || after.starts_with(','));
  });
}

// A function whose source is searched for assignments.
struct SearchedFunction {
  const SourceFlow& lines;
  const std::string& file;
  SourceLines* source;

  // Whether all that the declaration in the line names, except `but`, keeps its value.
  bool KeepsWhatIsNamedIn(int declaration, std::string_view but, int depth) const {
    std::string_view rest = source->Line(file, declaration);
    for (auto word = TakeWord(&rest); !word.empty(); word = TakeWord(&rest)) {
      if (word != but && !KeepsValueOf(word, declaration, depth)) return false;
    }
    return true;
  }

  // Whether no line assigns what the name stands for, except declarations of constants that are
  // computed from such names in turn. `but`: a line that is not looked at.
  bool KeepsValueOf(std::string_view name, int but, int depth) const {
    for (int line = lines.first; line <= lines.last; ++line) {
      const std::string& text = source->Line(file, line);
      if (!file.ends_with(".c") && IsPassed(text, name)) return false;
      if (line == but || !MayAssign(text, name)) continue;
      const bool declares = InitializesIn(text, name) && EndsDeclaration(text, name) &&
                            AnyWord(text, "const", [](size_t) { return true; });
      if (!declares || depth == 0 || !KeepsWhatIsNamedIn(line, {}, depth - 1)) return false;
    }
    return true;
  }
};

// Whether the variable is const, and computed from what keeps its value in the function. Only then
// a constant of the debug information is believed. Compilers give a variable of a loop the constant
// of one of its turns, also after the loop, and pass the constant on to what is computed from it.
bool HasOneValue(const DwarfVariable& variable, const SourceFrame& frame, SourceLines* lines,
                 ConditionReader* conditions) {
  constexpr int kDepth = 3;
  const SourceFlow* function = conditions->FunctionOf(frame);
  if (IsFortran(frame.file) || !variable.of_frame || !variable.is_const || variable.line <= 0 ||
      function == nullptr) {
    return false;
  }
  if (variable.parameter) return true;
  const std::string& declaration = lines->Line(frame.file, variable.line);
  return InitializesIn(declaration, variable.name) && EndsDeclaration(declaration, variable.name) &&
         SearchedFunction{*function, frame.file, lines}.KeepsWhatIsNamedIn(variable.line,
                                                                           variable.name, kDepth);
}

// Whether the compiler kept no value of the variable, or kept it in a register that is not known.
bool IsLost(const DwarfVariable& variable, const FrameState& frame) {
  if (variable.type == DwarfVariable::Type::kLost || variable.constant) return true;
  return variable.of_frame && variable.in_register && !frame.Base(variable);
}

std::optional<Variable> MakeVariable(const DwarfVariable& variable, uint64_t bits) {
  using Type = DwarfVariable::Type;
  using Kind = Variable::Kind;
  const auto of = [&](Kind kind, uint64_t value) {
    return Variable{.name = variable.name, .kind = kind, .bits = value};
  };
  const unsigned unused = 64 - 8 * variable.bytes;
  const auto integer = [&](uint64_t value) {
    Variable result = of(Kind::kInteger, value);
    for (const auto& [of_name, name] : variable.enumerators) {
      // The debug information does not say whether the number of a name has a sign.
      if ((static_cast<uint64_t>(of_name) ^ value) << unused == 0) result.enumerator = name;
    }
    return result;
  };
  switch (variable.type) {
    case Type::kSigned:
      return integer(static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused));
    case Type::kUnsigned:
      if (static_cast<int64_t>(bits) < 0) return {};
      return integer(bits);
    case Type::kFloat: {
      const double value = variable.bytes == 4 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                                               : std::bit_cast<double>(bits);
      return of(Kind::kFloat, std::bit_cast<uint64_t>(value));
    }
    case Type::kBool:
      return of(Kind::kBool, bits != 0 ? 1 : 0);
    case Type::kPointer:
      return of(Kind::kPointer, bits != 0 ? 1 : 0);
    case Type::kElements:
      return of(Kind::kLength, bits);
    case Type::kLost:
      break;
  }
  return {};
}

// A value that was read, and where.
struct Reading {
  size_t frame;
  const DwarfVariable* variable;
  FrameState state;
  uint64_t bits;
};

uint64_t BiasOf(const ProcessImage& image, const CodeAddress& address) {
  for (const LoadedModule& module : image.modules()) {
    if (module.path == address.module_path && module.build_id == address.build_id) {
      return module.bias;
    }
  }
  return 0;
}

}  // namespace

bool InitializesIn(std::string_view line, std::string_view name) {
  return AnyWord(line, name, [&](size_t at) {
    const std::string_view after = Trim(line.substr(at + name.size()));
    return after.starts_with('{') || (after.starts_with('=') && !after.starts_with("=="));
  });
}

bool EndsDeclaration(std::string_view line, std::string_view name) {
  line = line.substr(0, line.find("//"));
  if (name.empty()) return line.find(';') != std::string_view::npos;
  return AnyWord(line, name, [&](size_t at) {
    const std::string_view after = Trim(line.substr(at + name.size()));
    return after.find(';') != std::string_view::npos ||
           (after.starts_with(':') && !after.starts_with("::"));
  });
}

bool MayAssign(std::string_view line, std::string_view name) {
  return AnyWord(line, name, [&](size_t at) {
    const std::string_view before = Trim(line.substr(0, at));
    const std::string_view after = Trim(line.substr(at + name.size()));
    const size_t end = std::min(after.find_first_not_of("+-*/%&|^<>"), after.size());
    const std::string_view operation = after.substr(0, end);
    const bool equals = after.substr(end).starts_with('=') && !after.substr(end).starts_with("==");
    const bool assigns = equals && operation != "<" && operation != ">";
    return assigns || after.starts_with("++") || after.starts_with("--") ||
           before.ends_with("++") || before.ends_with("--") || before.ends_with(">>") ||
           (before.ends_with('&') && !before.ends_with("&&"));
  });
}

bool MayWrite(std::string_view line, std::string_view name, bool fortran) {
  return AnyWord(line, name,
                 [&](size_t at) { return fortran || Trim(line.substr(0, at)).ends_with('&'); });
}

std::vector<VariablesOfFrame> ReadNativeVariables(const ProcessImage& image,
                                                  const std::string& program,
                                                  const LiveThread& thread, Symbolizer* symbolizer,
                                                  bool (*wanted)(const SourceFrame&)) {
  std::vector<VariablesOfFrame> found;  // innermost first
  SourceLines lines;
  ConditionReader conditions;
  std::deque<std::vector<std::vector<DwarfVariable>>> described;
  std::vector<Reading> readings;
  for (size_t i = 0; i < std::min(thread.frames.size(), thread.registers.size()); ++i) {
    const CodeAddress& address = thread.frames[i];
    std::vector<SourceFrame> frames = symbolizer->Symbolize(address);
    if (std::ranges::none_of(frames, wanted)) continue;
    const FrameState state{
        .registers = thread.registers[i],
        .call_frame = i + 1 < thread.registers.size() ? thread.registers[i + 1].stack_pointer : 0,
        .bias = BiasOf(image, address),
        .program = address.module_path == program};
    std::vector<std::vector<std::string>> asked(frames.size());
    for (size_t level = 0; level < frames.size(); ++level) {
      if (wanted(frames[level])) asked[level] = conditions.NamesAround(frames[level]);
    }
    const auto& variables = described.emplace_back(symbolizer->VariablesAt(address, asked));
    for (size_t level = 0; level < frames.size(); ++level) {
      if (!wanted(frames[level])) continue;
      found.emplace_back().frame = std::move(frames[level]);
      if (level >= variables.size()) continue;
      for (const DwarfVariable& variable : variables[level]) {
        const bool believed =
            !variable.constant || HasOneValue(variable, found.back().frame, &lines, &conditions);
        const std::optional<uint64_t> bits =
            believed ? ReadBits(image.memory(), variable, state) : std::nullopt;
        if (bits) {
          readings.push_back({found.size() - 1, &variable, state, *bits});
        } else if (variable.asked && IsLost(variable, state)) {
          found.back().variables.push_back(
              {.name = variable.name, .kind = Variable::Kind::kLost, .if_named = true});
        }
      }
    }
  }
  for (const Reading& reading : readings) {
    const DwarfVariable& variable = *reading.variable;
    if (ReadBits(image.memory(), variable, reading.state) != reading.bits) continue;
    VariablesOfFrame& of_frame = found[reading.frame];
    if (!IsDeclaredBefore(variable, of_frame.frame, &lines)) continue;
    std::optional<Variable> value = MakeVariable(variable, reading.bits);
    if (!value) continue;
    value->outlives = variable.base == DwarfVariable::kModule;
    value->if_named = !variable.of_frame || IsUnsettled(variable, of_frame.frame, &lines);
    of_frame.variables.push_back(std::move(*value));
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace rollcall
