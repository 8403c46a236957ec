// What runs under this test: some tests break stacks, memory or signals in ways that a sanitizer's
// own runtime does not take, and others only repeat themselves.
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

// How often a test repeats what is generated or random: the release build decides whether it is
// right, a sanitizer, ten times slower, looks at the memory of one in eight.
constexpr int Rounds(int rounds) { return kSanitized ? (rounds + 7) / 8 : rounds; }

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_SANITIZERS_H_
