// One way to read a clock.
#ifndef ROLLCALL_COLLECTOR_BASE_CLOCK_H_
#define ROLLCALL_COLLECTOR_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace rollcall {

// Nanoseconds; CLOCK_REALTIME since 1970, CLOCK_MONOTONIC since the machine's start. Safe in signal
// handlers and from any thread.
inline int64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_CLOCK_H_
