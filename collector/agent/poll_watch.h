// Whether the failed polls of a thread are a wait. A pure state machine.
#ifndef ROLLCALL_COLLECTOR_AGENT_POLL_WATCH_H_
#define ROLLCALL_COLLECTOR_AGENT_POLL_WATCH_H_

#include <cstdint>
#include <optional>

#include "collector/live/process_state.h"

namespace rollcall::agent {

// One look at a thread whose last call was a failed poll.
struct PollSample {
  int64_t at_ns = 0;    // CLOCK_MONOTONIC
  uint64_t streak = 0;  // ring::Polling::since_ticks: another call site, another thing, or a record
                        // in between begins a new one
  uint64_t polls = 0;   // ever
  double inside_share = 0;           // of the time, inside of polls; 0 if unknown
  std::optional<ThreadTimes> times;  // of the thread, ever; nothing: unknown
};

// A thread polls tightly as long as every second of one streak holds a poll, and next to no CPU
// time between the polls: a loop around MPI_Test, with or without a sleep or yield in it. That is
// at most 5% CPU time in all, or outside of the polls at most 25% or a microsecond per poll, which
// is what a loop in Python needs. A thread that computes between its polls uses more.
//
// On a busy machine a loop of a thousand polls and a piece of work takes minutes, and most of them
// the thread only waits for a processor. That time is not counted, up to half of all: what it will
// do next is not seen sooner because others run.
class PollWatch {
 public:
  void Add(const PollSample& look);
  // The streak has ended.
  void Reset() { window_.reset(); }
  // Since when (CLOCK_MONOTONIC) it polls tightly, at the earliest, later by the whole seconds for
  // which it has waited for a processor since; nothing: it does not poll tightly, or was not
  // watched for a second yet.
  std::optional<int64_t> TightSince() const;

 private:
  static constexpr int64_t kWindowNs = 1'000'000'000;
  // A streak has begun before it is first looked at: by so much at most, on a busy machine. Whoever
  // asks for how long a process has waited knows better when its last record was.
  static constexpr int64_t kFirstLookNs = 1'000'000'000;
  static constexpr uint64_t kMostCpuPercent = 5;
  static constexpr uint64_t kMostOutsidePercent = 25;
  static constexpr uint64_t kMostOutsidePerPollNs = 1'000;

  std::optional<PollSample> window_;  // the look with which the current second began
  int64_t since_ns_ = 0;              // the first one of the seconds that were tight
  int64_t waited_ns_ = 0;             // for a processor, in these seconds
  bool tight_ = false;                // there was such a second
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_POLL_WATCH_H_
