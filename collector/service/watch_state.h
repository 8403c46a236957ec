// SPDX-License-Identifier: Apache-2.0
// Makes the state of a job for `rollcall top` from its digests.
#ifndef ROLLCALL_COLLECTOR_SERVICE_WATCH_STATE_H_
#define ROLLCALL_COLLECTOR_SERVICE_WATCH_STATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/service/job_pace.h"
#include "collector/service/job_state.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

// By key. Names that need more than one ring: "group 2 (ranks 4-7)".
using CommunicatorNames = std::unordered_map<uint64_t, std::string>;

// Beyond these numbers the largest, or the latest, are kept.
inline constexpr size_t kWatchedCommunicators = 128;
inline constexpr size_t kWatchedLateRanks = 32;

// Why the digests look like a hang; empty for none.
std::string_view ReasonText(Reason reason);

// Fills in the fields that the digests provide; the monitor fills in the rest. A pure function.
rpc::WatchState MakeWatchState(const JobState& state, const JobPace& pace,
                               const CommunicatorNames& names, int64_t now_ns);

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_WATCH_STATE_H_
