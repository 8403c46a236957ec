// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/dwarf_expression.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include <vector>

namespace rollcall {
namespace {

using Expression = std::vector<DwarfStep>;

// Register 3 is 7; the frame's base, register -1, is 0x1000; memory at each address is the address.
std::optional<uint64_t> Value(Expression expression) {
  const DwarfState state{[](int number) -> std::optional<uint64_t> {
                           if (number == 3) return 7;
                           if (number == -1) return 0x1000;
                           return std::nullopt;
                         },
                         [](uint64_t address, uint32_t bytes) -> std::optional<uint64_t> {
                           if (address < 0x1000) return std::nullopt;
                           return bytes == 8 ? address
                                             : address & ((uint64_t{1} << (8 * bytes)) - 1);
                         }};
  expression.push_back({DW_OP_stack_value});
  return EvaluateDwarf(expression, state);
}

TEST(DwarfExpression, ComputesFromRegisters) {
  // As GCC writes "(int)rbx == 7".
  EXPECT_EQ(Value({{DW_OP_breg3, 0},
                   {DW_OP_const1u, 32},
                   {DW_OP_shl},
                   {DW_OP_lit7},
                   {DW_OP_lit16},
                   {DW_OP_dup},
                   {DW_OP_plus},
                   {DW_OP_shl},
                   {DW_OP_eq},
                   {DW_OP_const1u, 255},
                   {DW_OP_and}}),
            1U);
  EXPECT_EQ(Value({{DW_OP_breg3, static_cast<uint64_t>(-2)}, {DW_OP_lit2}, {DW_OP_mul}}), 10U);
  EXPECT_EQ(Value({{DW_OP_bregx, 3, 1}, {DW_OP_neg}}), static_cast<uint64_t>(-8));
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_lit9}, {DW_OP_minus}, {DW_OP_lit1}, {DW_OP_shra}}),
            static_cast<uint64_t>(-1));
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_lit9}, {DW_OP_swap}, {DW_OP_gt}}), 1U);
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_const1u, 64}, {DW_OP_shl}}), 0U);
}

TEST(DwarfExpression, ComputesFromMemory) {
  EXPECT_EQ(Value({{DW_OP_fbreg, 0x10, static_cast<uint64_t>(-1)}, {DW_OP_deref}}), 0x1010U);
  EXPECT_EQ(Value({{DW_OP_fbreg, 0x10, static_cast<uint64_t>(-1)}, {DW_OP_deref_size, 1}}), 0x10U);
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_deref}}), std::nullopt);
  EXPECT_EQ(Value({{DW_OP_fbreg, 0, static_cast<uint64_t>(-1)}, {DW_OP_deref_size, 9}}),
            std::nullopt);
}

TEST(DwarfExpression, KnowsConstants) {
  const Expression constant{{DW_OP_lit3}, {DW_OP_stack_value}};
  EXPECT_TRUE(IsConstant(constant));
  EXPECT_EQ(Value({{DW_OP_lit3}}), 3U);
  EXPECT_FALSE(IsConstant(Expression{{DW_OP_breg3, 0}, {DW_OP_stack_value}}));
  EXPECT_FALSE(IsValue(Expression{{DW_OP_lit3}, {DW_OP_lit3}}));
}

TEST(DwarfExpression, RejectsUnknownRegistersAndDamage) {
  EXPECT_EQ(Value({{DW_OP_breg4, 0}}), std::nullopt);
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_plus}}), std::nullopt);
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_lit1}}), std::nullopt);
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_drop}}), std::nullopt);
  EXPECT_EQ(Value({{DW_OP_breg3, 0}, {DW_OP_entry_value}}), std::nullopt);
  EXPECT_EQ(Value({{DW_OP_over}, {DW_OP_breg3, 0}}), std::nullopt);
  EXPECT_EQ(Value(Expression(300, {DW_OP_breg3, 0})), std::nullopt);
  EXPECT_EQ(EvaluateDwarf(Expression{{DW_OP_breg3, 0}}, {}), std::nullopt);
}

}  // namespace
}  // namespace rollcall
