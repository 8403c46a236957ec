// SPDX-License-Identifier: Apache-2.0
// Estimates how far this node's CLOCK_REALTIME is ahead of the collector's. The method is NTP's:
// the collector reads its clock at some moment between question and answer, so the error of the
// midpoint is at most half of the time between them (RFC 5905, 8).
#ifndef ROLLCALL_COLLECTOR_AGENT_CLOCK_ESTIMATE_H_
#define ROLLCALL_COLLECTOR_AGENT_CLOCK_ESTIMATE_H_

#include <cstdint>
#include <optional>

#include "collector/model/trace.h"

namespace rollcall::agent {

// Readings of one node's clocks at one moment.
struct ClockReading {
  int64_t realtime_ns = 0;
  int64_t monotonic_ns = 0;
};

// Pure: reads no clock. Not thread-safe.
class ClockEstimate {
 public:
  // `collector_ns`: the collector's CLOCK_REALTIME, read between `asked` and `answered`. Returns
  // the new estimate if the journal has to be updated.
  std::optional<NodeClock> Add(const ClockReading& asked, int64_t collector_ns,
                               const ClockReading& answered);

 private:
  struct Best {
    NodeClock clock;
    int64_t monotonic_ns = 0;
  };
  std::optional<Best> best_;
  std::optional<NodeClock> journaled_;
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_CLOCK_ESTIMATE_H_
