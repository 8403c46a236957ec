// SPDX-License-Identifier: Apache-2.0
#include "collector/import/node_clock.h"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace rollcall {
namespace {

// Offsets and errors beyond 36 years, and times beyond the year 2116, are damage.
constexpr int64_t kMaxOffsetNs = int64_t{1} << 60;
constexpr int64_t kMaxTimeNs = int64_t{1} << 62;

bool IsPlausible(const NodeClock& clock) {
  return clock.offset_ns >= -kMaxOffsetNs && clock.offset_ns <= kMaxOffsetNs &&
         clock.error_ns >= 0 && clock.error_ns <= kMaxOffsetNs;
}

void Shift(const NodeClock& clock, int64_t* at_ns) {
  if (*at_ns > 0 && *at_ns < kMaxTimeNs) {
    *at_ns = std::max<int64_t>(0, *at_ns - clock.offset_ns);
  }
}

struct Shifter {
  const NodeClock& clock;

  void operator()(journal::ProcessEnded& ended) const { Shift(clock, &ended.end.at_ns); }
  void operator()(journal::Quiet& quiet) const {
    Shift(clock, &quiet.at_ns);
    for (journal::TightPoll& poll : quiet.tight) Shift(clock, &poll.since_ns);
  }
  template <typename Event>
  void operator()(Event& event) const {
    if constexpr (requires { event.at_ns; }) Shift(clock, &event.at_ns);
  }
};

}  // namespace

std::optional<NodeClock> CorrectTimes(Journal* journal) {
  const journal::Clock* found = nullptr;
  for (const JournalEvent& event : journal->events) {
    const auto* clock = std::get_if<journal::Clock>(&event);
    if (clock == nullptr || !IsPlausible(clock->clock)) continue;
    if (found != nullptr && found->host != clock->host) return std::nullopt;
    found = clock;
  }
  if (found == nullptr) return std::nullopt;
  const NodeClock clock = found->clock;
  for (JournalEvent& event : journal->events) std::visit(Shifter{clock}, event);
  return clock;
}

void CorrectTimes(const NodeClock& clock, RingSnapshot* ring) {
  ring->clock = clock;
  Shift(clock, &ring->taken_at_ns);
  for (ring::ClockAnchor* anchor : {&ring->header.first_anchor, &ring->header.last_anchor}) {
    auto at_ns = static_cast<int64_t>(anchor->realtime_ns);
    Shift(clock, &at_ns);
    anchor->realtime_ns = static_cast<uint64_t>(at_ns);
  }
}

}  // namespace rollcall
