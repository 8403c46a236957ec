// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/dwarf_expression.h"

#include <dwarf.h>

#include <algorithm>
#include <vector>

namespace rollcall {
namespace {

bool IsBetween(uint8_t operation, uint8_t first, uint8_t last) {
  return operation >= first && operation <= last;
}

bool ReadsRegister(uint8_t operation) {
  return IsBetween(operation, DW_OP_breg0, DW_OP_breg31) || operation == DW_OP_bregx ||
         operation == DW_OP_fbreg;
}

bool PushesConstant(uint8_t operation) {
  return IsBetween(operation, DW_OP_const1u, DW_OP_consts) ||
         IsBetween(operation, DW_OP_lit0, DW_OP_lit31);
}

class Machine {
 public:
  explicit Machine(const DwarfState& state) : state_(state) {}

  bool Step(const DwarfStep& step) {
    const uint8_t operation = step.operation;
    if (ReadsRegister(operation)) return ReadRegister(step);
    if (PushesConstant(operation)) {
      Push(IsBetween(operation, DW_OP_lit0, DW_OP_lit31) ? operation - DW_OP_lit0 : step.number);
      return true;
    }
    switch (operation) {
      case DW_OP_nop:
        return true;
      case DW_OP_dup:
        return Pick(0);
      case DW_OP_over:
        return Pick(1);
      case DW_OP_drop:
        return Pop().has_value();
      case DW_OP_deref:
        return Read(sizeof(uint64_t));
      case DW_OP_deref_size:
        return Read(static_cast<uint32_t>(std::min<uint64_t>(step.number, 255)));
      case DW_OP_plus_uconst:
        return Unary([&](uint64_t a) { return a + step.number; });
      case DW_OP_neg:
        return Unary([](uint64_t a) { return -a; });
      case DW_OP_not:
        return Unary([](uint64_t a) { return ~a; });
      case DW_OP_abs:
        return Unary([](uint64_t a) { return static_cast<int64_t>(a) < 0 ? -a : a; });
      default:
        return Binary(operation);
    }
  }

  // Empty unless exactly one value is left.
  std::optional<uint64_t> Result() {
    return stack_.size() == 1 ? std::optional(stack_.back()) : std::nullopt;
  }

 private:
  void Push(uint64_t value) { stack_.push_back(value); }

  std::optional<uint64_t> Pop() {
    if (stack_.empty()) return std::nullopt;
    const uint64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }

  bool Pick(size_t below) {
    if (stack_.size() <= below) return false;
    Push(stack_[stack_.size() - 1 - below]);
    return true;
  }

  bool ReadRegister(const DwarfStep& step) {
    int number = step.operation - DW_OP_breg0;
    uint64_t offset = step.number;
    if (step.operation == DW_OP_bregx) {
      number = static_cast<int>(step.number);
      offset = step.number2;
    } else if (step.operation == DW_OP_fbreg) {
      number = static_cast<int>(step.number2);
    }
    const std::optional<uint64_t> value = state_.register_value(number);
    if (value) Push(*value + offset);
    return value.has_value();
  }

  bool Read(uint32_t bytes) {
    const std::optional<uint64_t> address = Pop();
    if (!address || bytes == 0 || bytes > sizeof(uint64_t)) return false;
    const std::optional<uint64_t> value = state_.memory(*address, bytes);
    if (value) Push(*value);
    return value.has_value();
  }

  template <typename Function>
  bool Unary(Function function) {
    const std::optional<uint64_t> a = Pop();
    if (a) Push(function(*a));
    return a.has_value();
  }

  bool Binary(uint8_t operation) {
    const std::optional<uint64_t> second = Pop();
    const std::optional<uint64_t> first = Pop();
    if (!second || !first) return false;
    const uint64_t a = *first;
    const uint64_t b = *second;
    const auto signed_a = static_cast<int64_t>(a);
    const auto signed_b = static_cast<int64_t>(b);
    switch (operation) {
      case DW_OP_swap:
        Push(b);
        Push(a);
        return true;
      case DW_OP_plus:
        return Push(a + b), true;
      case DW_OP_minus:
        return Push(a - b), true;
      case DW_OP_mul:
        return Push(a * b), true;
      case DW_OP_and:
        return Push(a & b), true;
      case DW_OP_or:
        return Push(a | b), true;
      case DW_OP_xor:
        return Push(a ^ b), true;
      case DW_OP_shl:
        return Push(b < 64 ? a << b : 0), true;
      case DW_OP_shr:
        return Push(b < 64 ? a >> b : 0), true;
      case DW_OP_shra:
        return Push(static_cast<uint64_t>(signed_a >> std::min<uint64_t>(b, 63))), true;
      case DW_OP_eq:
        return Push(a == b ? 1 : 0), true;
      case DW_OP_ne:
        return Push(a != b ? 1 : 0), true;
      case DW_OP_lt:
        return Push(signed_a < signed_b ? 1 : 0), true;
      case DW_OP_le:
        return Push(signed_a <= signed_b ? 1 : 0), true;
      case DW_OP_gt:
        return Push(signed_a > signed_b ? 1 : 0), true;
      case DW_OP_ge:
        return Push(signed_a >= signed_b ? 1 : 0), true;
      default:
        return false;
    }
  }

  const DwarfState& state_;
  std::vector<uint64_t> stack_;
};

}  // namespace

bool IsValue(std::span<const DwarfStep> expression) {
  constexpr size_t kMaxSteps = 256;
  return expression.size() >= 2 && expression.size() <= kMaxSteps &&
         expression.back().operation == DW_OP_stack_value;
}

bool IsConstant(std::span<const DwarfStep> expression) {
  return std::ranges::none_of(expression,
                              [](const DwarfStep& step) { return ReadsRegister(step.operation); });
}

std::optional<uint64_t> EvaluateDwarf(std::span<const DwarfStep> expression,
                                      const DwarfState& state) {
  if (!IsValue(expression)) return std::nullopt;
  Machine machine(state);
  for (const DwarfStep& step : expression.first(expression.size() - 1)) {
    if (!machine.Step(step)) return std::nullopt;
  }
  return machine.Result();
}

}  // namespace rollcall
