// SPDX-License-Identifier: Apache-2.0
// Traces for which only the newest records of each ring buffer are read.
#ifndef ROLLCALL_TESTS_SUPPORT_NEWEST_RECORDS_H_
#define ROLLCALL_TESTS_SUPPORT_NEWEST_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "collector/model/trace.h"
#include "proto/signature.h"

namespace rollcall {

// Adds checkpoints where the shim keeps them: at the last sequence number, and at the newest
// multiples of powers of four.
inline void AddRecentCheckpoints(Trace* trace) {
  for (Member& member : trace->members) {
    Checkpoint now;
    for (const Event& event : member.events) {
      const uint64_t path = event.call_path == kNoIndex ? 0 : event.call_path + uint64_t{1};
      const uint64_t call = trace->arguments[event.arguments].semantic_hash;
      now = {event.sequence, RollHash(now.semantic_hash, call), RollHash(now.path_hash, path)};
      const bool is_last = &event == &member.events.back();
      uint64_t stride = 1;
      while (now.sequence % (4 * stride) == 0 && member.entered / (4 * stride) != 0) stride *= 4;
      const bool is_recent = member.entered - now.sequence < stride;
      if (is_last || is_recent) member.checkpoints.push_back(now);
    }
    std::stable_sort(
        member.checkpoints.begin(), member.checkpoints.end(),
        [](const Checkpoint& a, const Checkpoint& b) { return a.sequence < b.sequence; });
  }
}

// Removes all but the newest `count` records of each ring buffer of every thread, as the ring
// overwrites them. Processes in `whole` keep all records.
inline Trace KeepNewest(Trace trace, size_t count, const std::set<uint32_t>& whole = {}) {
  for (uint32_t index = 0; index < trace.processes.size(); ++index) {
    if (whole.contains(index)) continue;
    Process& process = trace.processes[index];
    for (uint32_t thread = 0; thread < process.threads.size(); ++thread) {
      // For each of the two buffers of the thread: the start of the oldest record that is kept.
      std::vector<int64_t> collectives;
      std::vector<int64_t> messages;
      const auto add = [&](const std::vector<Event>& events, std::vector<int64_t>* to) {
        for (const Event& event : events) {
          if (event.thread == thread && event.end_ns != kNoTime) to->push_back(event.start_ns);
        }
      };
      for (const Member& member : trace.members) {
        if (member.process == index) add(member.events, &collectives);
      }
      add(process.lifecycle, &collectives);
      add(process.p2p, &messages);
      const auto oldest = [count](std::vector<int64_t>* starts) {
        if (starts->size() <= count) return INT64_MIN;
        std::nth_element(starts->begin(), starts->end() - static_cast<ptrdiff_t>(count),
                         starts->end());
        return *(starts->end() - static_cast<ptrdiff_t>(count));
      };
      const auto drop = [&](std::vector<Event>* events, int64_t since_ns) {
        return std::erase_if(*events, [&](const Event& event) {
          return event.thread == thread && event.end_ns != kNoTime && event.start_ns < since_ns;
        });
      };
      const int64_t first_collective = oldest(&collectives);
      uint64_t& lost = process.threads[thread].lost_collectives;
      for (Member& member : trace.members) {
        if (member.process == index) lost += drop(&member.events, first_collective);
      }
      lost += drop(&process.lifecycle, first_collective);
      process.threads[thread].lost_p2p += drop(&process.p2p, oldest(&messages));
    }
  }
  return trace;
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_NEWEST_RECORDS_H_
