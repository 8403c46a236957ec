// SPDX-License-Identifier: Apache-2.0
// Converts a ring's ticks to nanoseconds of CLOCK_REALTIME.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_CLOCK_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_CLOCK_H_

#include <cstdint>

#include "proto/ring_format.h"

namespace rollcall {

// Immutable; reads no clock. The header is not trusted: bad anchors give unknown times.
class RingClock {
 public:
  explicit RingClock(const ring::FileHeader& header);

  // kNoTime for 0 (never happened), and if the rate of the ticks is unknown.
  int64_t ToNs(uint64_t ticks) const;

  bool known() const { return known_; }
  // Whether this clock reproduces the times that the ring of `header` measured, within the cost of
  // measuring.
  bool Fits(const ring::FileHeader& header) const;

 private:
  uint64_t kind_ = 0;  // ring::Clock
  bool known_ = false;
  ring::ClockAnchor anchor_{};
  double ns_per_tick_ = 1;
  int64_t offset_ns_ = 0;  // CLOCK_REALTIME minus CLOCK_MONOTONIC
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_CLOCK_H_
