// SPDX-License-Identifier: Apache-2.0
// ROLLCALL_ROLES(a, b, …) expands to roles::a, roles::b, … for up to 16 words.
#ifndef ROLLCALL_TESTS_SHIM_ABI_WORD_LIST_H_
#define ROLLCALL_TESTS_SHIM_ABI_WORD_LIST_H_

#define RL_EXPAND(...) RL_EXPAND2(RL_EXPAND2(RL_EXPAND2(__VA_ARGS__)))
#define RL_EXPAND2(...) RL_EXPAND1(RL_EXPAND1(RL_EXPAND1(__VA_ARGS__)))
#define RL_EXPAND1(...) __VA_ARGS__
#define RL_PARENS ()
#define RL_NEXT(word, ...) \
  ::rollcall::shim::roles::word __VA_OPT__(, RL_AGAIN RL_PARENS(__VA_ARGS__))
#define RL_AGAIN() RL_NEXT
#define ROLLCALL_ROLES(...) __VA_OPT__(RL_EXPAND(RL_NEXT(__VA_ARGS__)))

#endif  // ROLLCALL_TESTS_SHIM_ABI_WORD_LIST_H_
