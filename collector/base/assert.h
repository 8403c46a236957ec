// SPDX-License-Identifier: Apache-2.0
// Checks what the code relies on, such as "the list is sorted". An assertion that fails is a
// mistake in the collector, never in its input. Not for shim/, which must not end the job.
#ifndef ROLLCALL_COLLECTOR_BASE_ASSERT_H_
#define ROLLCALL_COLLECTOR_BASE_ASSERT_H_

#include <cstdio>
#include <cstdlib>

// Aborts with file, line and expression unless the expression is true.
#define ROLLCALL_ASSERT_ON(...)                                                                    \
  ((__VA_ARGS__)                                                                                   \
       ? static_cast<void>(0)                                                                      \
       : (std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__), \
          std::abort()))

// Compiles the expression and does not evaluate it.
#define ROLLCALL_ASSERT_OFF(...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))

// On in builds without NDEBUG and, by cmake/rollcall.cmake, in builds with a sanitizer.
#if !defined(NDEBUG) || defined(ROLLCALL_ASSERTIONS)
#define ROLLCALL_ASSERT(...) ROLLCALL_ASSERT_ON(__VA_ARGS__)
#else
#define ROLLCALL_ASSERT(...) ROLLCALL_ASSERT_OFF(__VA_ARGS__)
#endif

#endif  // ROLLCALL_COLLECTOR_BASE_ASSERT_H_
