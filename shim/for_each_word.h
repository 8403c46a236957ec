// SPDX-License-Identifier: Apache-2.0
// A for-each of the C preprocessor over up to 16 words of a line of a table (functions.def,
// nccl_functions.def).
#ifndef ROLLCALL_SHIM_FOR_EACH_WORD_H_
#define ROLLCALL_SHIM_FOR_EACH_WORD_H_

#define RC_EXPAND(...) RC_EXPAND2(RC_EXPAND2(RC_EXPAND2(__VA_ARGS__)))
#define RC_EXPAND2(...) RC_EXPAND1(RC_EXPAND1(RC_EXPAND1(__VA_ARGS__)))
#define RC_EXPAND1(...) __VA_ARGS__
#define RC_PARENS ()
// f(word) for each word, with commas between.
#define RC_LIST(f, ...) __VA_OPT__(RC_EXPAND(RC_LIST_NEXT(f, __VA_ARGS__)))
#define RC_LIST_NEXT(f, word, ...) f(word) __VA_OPT__(, RC_LIST_AGAIN RC_PARENS(f, __VA_ARGS__))
#define RC_LIST_AGAIN() RC_LIST_NEXT
// f(word) for each word, with nothing between.
#define RC_EACH(f, ...) __VA_OPT__(RC_EXPAND(RC_EACH_NEXT(f, __VA_ARGS__)))
#define RC_EACH_NEXT(f, word, ...) f(word) __VA_OPT__(RC_EACH_AGAIN RC_PARENS(f, __VA_ARGS__))
#define RC_EACH_AGAIN() RC_EACH_NEXT

#endif  // ROLLCALL_SHIM_FOR_EACH_WORD_H_
