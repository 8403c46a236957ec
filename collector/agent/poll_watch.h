// SPDX-License-Identifier: Apache-2.0
// Decides whether the failed polls of a thread are a wait. A pure state machine.
#ifndef ROLLCALL_COLLECTOR_AGENT_POLL_WATCH_H_
#define ROLLCALL_COLLECTOR_AGENT_POLL_WATCH_H_

#include <cstdint>
#include <optional>

#include "collector/live/process_state.h"

namespace rollcall::agent {

// One sample of a thread whose last call was a failed poll.
struct PollSample {
  int64_t at_ns = 0;    // CLOCK_MONOTONIC
  uint64_t streak = 0;  // ring::Polling::since_ticks: another call site, another thing, or a record
                        // in between begins a new one
  uint64_t polls = 0;   // total so far
  double inside_share = 0;           // share of the time spent inside polls; 0 if unknown
  std::optional<ThreadTimes> times;  // total of the thread so far; nothing: unknown
};

// A thread polls tightly while every second of one streak contains a poll and next to no CPU time
// is spent between the polls. An example is a loop around MPI_Test, with or without a sleep or
// yield in it. The CPU time is low enough if it is at most 5% in all. It is also low enough if the
// CPU time outside of the polls is at most 25%, or at most a microsecond per poll (a loop in Python
// needs this much). A thread that computes between its polls uses more.
//
// On a busy machine, a loop of a thousand polls and some work may take minutes. The thread spends
// most of them waiting for a processor. This time is not counted, up to half of the total: waiting
// for a processor does not show any sooner what the thread will do next.
class PollWatch {
 public:
  void Add(const PollSample& sample);
  // The streak has ended.
  void Reset() { window_.reset(); }
  // Returns the earliest time (CLOCK_MONOTONIC) since which the thread has polled tightly. The time
  // is moved forward by the whole seconds for which the thread has waited for a processor since.
  // Nothing: the thread does not poll tightly, or has been watched for less than a second.
  std::optional<int64_t> TightSince() const;

 private:
  static constexpr int64_t kWindowNs = 1'000'000'000;
  // A streak may begin this long before its first sample, on a busy machine. A caller that measures
  // how long a process has waited can take the time of its last record instead.
  static constexpr int64_t kFirstSampleNs = 1'000'000'000;
  static constexpr uint64_t kMaxCpuPercent = 5;
  static constexpr uint64_t kMaxOutsidePercent = 25;
  static constexpr uint64_t kMaxOutsidePerPollNs = 1'000;

  std::optional<PollSample> window_;  // the sample that began the current second
  int64_t since_ns_ = 0;              // start of the first second that was tight
  int64_t waited_ns_ = 0;             // time waited for a processor, in these seconds
  bool tight_ = false;                // there was a tight second
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_POLL_WATCH_H_
