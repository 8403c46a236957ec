// SPDX-License-Identifier: Apache-2.0
// Primitives of the hot path: atomic words, clocks, hashes.
#ifndef ROLLCALL_SHIM_PLATFORM_H_
#define ROLLCALL_SHIM_PLATFORM_H_

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "proto/mix.h"

#define ROLLCALL_EXPORT __attribute__((visibility("default")))
#define ROLLCALL_COLD __attribute__((noinline, cold))
#define ROLLCALL_INLINE [[gnu::always_inline]] inline
// For declarations of variables that are defined in another file of the shim: otherwise the
// compiler takes their address from a table.
#define ROLLCALL_HIDDEN __attribute__((visibility("hidden")))

namespace rollcall::shim {

// Words that another process reads while we write them.
template <typename T>
inline void StoreRelaxed(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
template <typename T>
inline void StoreRelease(T* word, T value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
template <typename T>
inline T LoadRelaxed(const T* word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}
template <typename T>
inline T LoadAcquire(const T* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

// Calls `change`, which changes words that readers see, by StoreRelaxed(), while their lock word is
// odd. One writer at a time.
template <typename Change>
inline void ChangeUnderLock(uint64_t* lock_word, Change change) {
  const uint64_t lock = LoadRelaxed(lock_word);
  StoreRelaxed(lock_word, lock + 1);
  std::atomic_thread_fence(std::memory_order_release);
  change();
  StoreRelease(lock_word, lock + 2);
}

// Increments a word that has a single writer, so that no lock prefix is needed.
inline void Bump(uint64_t* word) { StoreRelaxed(word, LoadRelaxed(word) + 1); }

[[gnu::noinline]] inline uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t RealtimeNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// True if the time-stamp counter runs at one rate on all cores (Intel SDM vol. 3, 18.17.1; AMD APM
// vol. 3, CPUID Fn8000_0007 EDX[8]). rdtsc costs a third of clock_gettime.
inline bool HasInvariantTsc() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

inline uint64_t ReadTsc() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();  // _rdtsc's header would include all vector intrinsics
#else
  return 0;
#endif
}

// Restores errno: slow paths make system calls, and a program may read errno after a successful
// MPI call.
class ErrnoGuard {
 public:
  ErrnoGuard() : saved_(errno) {}
  ~ErrnoGuard() { errno = saved_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  int saved_;
};

constexpr uint64_t HashBytes(const void* data, uint64_t bytes, uint64_t seed) {
  uint64_t hash = seed ^ 0xcbf29ce484222325;
  for (uint64_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  }
  return Mix64(hash, bytes);
}

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_PLATFORM_H_
