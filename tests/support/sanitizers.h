// SPDX-License-Identifier: Apache-2.0
// Which sanitizer is active: some tests use stacks, memory or signals in ways that the runtime of a
// sanitizer does not support, and others need fewer repetitions.
#ifndef ROLLCALL_TESTS_SUPPORT_SANITIZERS_H_
#define ROLLCALL_TESTS_SUPPORT_SANITIZERS_H_

#ifndef __has_feature
#define __has_feature(x) 0  // gcc 12 has macros instead
#endif

namespace rollcall {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

// The number of generated or random cases that a test runs. The release build checks correctness
// with all of them; a sanitizer is ten times slower and checks one in eight.
constexpr int Rounds(int rounds) { return kSanitized ? (rounds + 7) / 8 : rounds; }

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_SANITIZERS_H_
