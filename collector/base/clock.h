// SPDX-License-Identifier: Apache-2.0
// One way to read a clock.
#ifndef ROLLCALL_COLLECTOR_BASE_CLOCK_H_
#define ROLLCALL_COLLECTOR_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>
#include <cstdlib>

#include "proto/environment.h"

namespace rollcall {

inline const int64_t kTestClockShiftNs = [] {
  const char* shift = getenv(env::kTestClockShift);
  return shift == nullptr ? int64_t{0} : int64_t{strtoll(shift, nullptr, 10)};
}();

// Nanoseconds; CLOCK_REALTIME since 1970, CLOCK_MONOTONIC since the machine's start. Safe in signal
// handlers and from any thread.
inline int64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  const int64_t shift_ns = clock == CLOCK_REALTIME ? kTestClockShiftNs : 0;
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec + shift_ns;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_CLOCK_H_
