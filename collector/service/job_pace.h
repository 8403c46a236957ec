// SPDX-License-Identifier: Apache-2.0
// Determines from the digests alone how fast the ranks of a job make collective calls, which share
// of their time they spend in these calls, and which ranks the others wait for. A pure state
// machine: time is an argument.
//
// A digest contains how long ago, by its node's own clock, a call was entered. This is subtracted
// from the time at which the collector received the digest. The results are comparable across nodes
// without comparing the nodes' clocks, with the error of one transfer. Ranks are sampled about once
// a second, so the counts are counts of samples, not of calls.
#ifndef ROLLCALL_COLLECTOR_SERVICE_JOB_PACE_H_
#define ROLLCALL_COLLECTOR_SERVICE_JOB_PACE_H_

#include <array>
#include <cstdint>
#include <unordered_map>

#include "collector/service/job_state.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

// The slope of a growing number over its last 5 to 10 seconds.
class Slope {
 public:
  // A value below an earlier value counts as the earlier value.
  void Add(int64_t now_ns, int64_t value);
  // `value`: at `now_ns`. 0 before there is a span of time.
  double PerNs(int64_t now_ns, int64_t value) const;
  // As PerNs(), with the last value that was added; 0 if it has not grown for 5 seconds.
  double PerSecond(int64_t now_ns) const;

 private:
  struct Point {
    int64_t at_ns = 0;
    int64_t value = 0;
  };
  Point base_;
  Point next_;  // the next base
  int64_t grown_ns_ = 0;
  int64_t last_ = 0;
};

class JobPace {
 public:
  // How often others had entered a collective and waited for this rank while it was outside every
  // call.
  struct Lateness {
    uint32_t samples = 0;
    uint32_t late = 0;     // of `samples`; a present lateness is not included
    int64_t total_ns = 0;  // of all `late`
    int64_t most_ns = 0;
    int64_t now_ns = 0;  // of the present lateness; 0: the rank is not late now
  };

  // Call after the state has handled these digests, which came in one message at `now_ns`.
  void OnDigests(const JobState& state, const rpc::DigestBatch& digests, int64_t now_ns);
  // Forgets processes that the state no longer has.
  void Prune(const JobState& state);

  double CollectivesPerSecond(uint64_t communicator, int64_t now_ns) const;
  // Of a process, on all its communicators.
  double CallsPerSecond(uint64_t process, int64_t now_ns) const;
  // Share of a process's time that it was inside a collective.
  double ShareInside(uint64_t process, int64_t now_ns) const;
  Lateness LatenessOf(const JobState::Process& process, int64_t now_ns) const;

 private:
  // The moment by which a member had entered a collective.
  struct Arrival {
    uint64_t sequence = 0;
    int64_t at_ns = 0;
    int64_t reported_ns = 0;
  };
  struct Communicator {
    Slope completed;  // by the first member
    // The newest collectives that are known, each as entered by the first member; by sequence
    // number.
    std::array<Arrival, 4> arrivals;
  };
  struct Process {
    Slope calls;
    Slope inside;
    int64_t inside_ns = 0;
    int64_t seen_ns = 0;  // the newest digest
    bool is_inside = false;
    bool quiet = false;
    Lateness lateness;
    // The collective that others have entered and this process has not. first_ns 0: none.
    uint64_t late_key = 0;
    uint64_t late_sequence = 0;
    int64_t late_first_ns = 0;
    int64_t late_ns = 0;  // so far
  };

  void NoteArrivals(const JobState::Process& process, int64_t now_ns);
  void Measure(const JobState::Process& process, int64_t now_ns);
  static void EndLateness(const JobState::Process& process, int64_t now_ns, Process* pace);
  void BeginLateness(const JobState::Process& process, int64_t now_ns, Process* pace) const;

  std::unordered_map<uint64_t, Communicator> communicators_;  // by key
  std::unordered_map<uint64_t, Process> processes_;           // by id
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_JOB_PACE_H_
