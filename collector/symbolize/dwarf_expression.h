// SPDX-License-Identifier: Apache-2.0
// Evaluates the expressions by which debug information computes values of optimized variables.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_EXPRESSION_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_EXPRESSION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace rollcall {

// One operation, with its numbers as Dwarf_Op has them. DW_OP_fbreg: `number2` is the register of
// the frame's base, or DwarfVariable::kCallFrame.
struct DwarfStep {
  uint8_t operation = 0;
  uint64_t number = 0;
  uint64_t number2 = 0;
};

struct DwarfState {
  std::function<std::optional<uint64_t>(int)> register_value;  // by DWARF number; or kCallFrame
  // Reads 1 to 8 bytes.
  std::function<std::optional<uint64_t>(uint64_t address, uint32_t bytes)> memory;
};

// Whether the expression computes a value, and not a place.
bool IsValue(std::span<const DwarfStep> expression);

// Whether the value depends on no register, and so on no memory.
bool IsConstant(std::span<const DwarfStep> expression);

// Empty if a register or memory is unknown, or if the expression is damaged. Bounded, because there
// are no jumps.
std::optional<uint64_t> EvaluateDwarf(std::span<const DwarfStep> expression,
                                      const DwarfState& state);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_EXPRESSION_H_
