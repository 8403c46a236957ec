// SPDX-License-Identifier: Apache-2.0
// The trace, aligned, and all data that is derived from the trace alone, computed once. Which ranks
// hang is not part of it: see analysis.h. For one thread. Refers to the trace and the options,
// which must outlive it.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ALIGNED_TRACE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ALIGNED_TRACE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/diagnosis/graph/device_waits.h"
#include "collector/diagnosis/graph/options.h"
#include "collector/diagnosis/graph/places.h"
#include "collector/diagnosis/graph/stillness.h"
#include "collector/diagnosis/graph/wait_graph.h"
#include "collector/matching/call_site.h"
#include "collector/matching/communicator_history.h"
#include "collector/matching/shift.h"
#include "collector/model/trace.h"

namespace rollcall {

class AlignedTrace {
 public:
  AlignedTrace(const Trace& trace, const DiagnoseOptions& options);

  const Trace& trace;
  const DiagnoseOptions& options;
  CallSites sites;
  std::vector<CommunicatorHistory> histories;  // parallel to Trace::communicators
  WaitGraph graph;
  DeviceWaits device;
  Places places;                // of a trace without records
  int64_t no_progress_ns = -1;  // since the last movement of any process; -1 if unknown

  const Arguments& Args(const Event& event) const { return trace.arguments[event.arguments]; }
  Operation Op(const Event& event) const { return Args(event).operation; }
  Kind KindOf(const Event& event) const {
    return FindOperation(static_cast<uint16_t>(Op(event))).kind;
  }
  int32_t RankOf(uint32_t process) const { return trace.processes[process].rank; }
  std::vector<int32_t> RanksOf(const std::vector<uint32_t>& processes) const;  // normalized
  const std::string& CommunicatorName(uint32_t communicator) const {
    return trace.communicators[communicator].name;
  }
  // Of a trace without records.
  const Place& PlaceOf(uint32_t process) const { return *trace.processes[process].place; }
  // kNoIndex for a call without a known communicator.
  uint32_t CommunicatorOf(const Event& event) const {
    return event.member == kNoIndex ? kNoIndex : trace.members[event.member].communicator;
  }
  bool Waits(uint32_t process) const {
    const Activity activity = graph.processes[process].activity;
    return activity == Activity::kBlocked || activity == Activity::kPolling;
  }
  // The process does not move: two samples saw no movement, or the job is over.
  bool Still(uint32_t process) const { return trace.processes[process].quiet || options.job_ended; }
  bool AnyEnded() const;  // a process ended by itself
  bool AllStill(const std::vector<uint32_t>& processes) const;
  // For a job that is over: a hang was reported, and the process has not moved since. The process
  // had been still for long enough when the hang was reported.
  bool WasJudged(uint32_t process) const {
    return rollcall::WasJudged(options, trace.processes[process]);
  }
  // For a job that is over: a live observer had waited long enough for the process and took its
  // stack, or rollcall ended it.
  bool WasLookedInto(uint32_t process) const {
    const Process& watched = trace.processes[process];
    return options.job_ended && (!watched.live_stacks.empty() || watched.end.by_rollcall);
  }

  // How long the process has made no call; -1 if unknown.
  int64_t IdleNs(uint32_t process) const {
    return rollcall::IdleNs(options, trace.processes[process]);
  }
  // The process has not moved for the time that makes a rank stalled, or for `times` that time.
  bool StoodStill(uint32_t process, int64_t times = 1) const;
  // The process made a call so recently that the call may still return, even if the process did not
  // move between two samples: the machine may be busy. False in a job that is over.
  bool EnteredRecently(uint32_t process) const;

  const MemberHistory* HistoryOf(uint32_t communicator, uint32_t process) const;
  const CollectiveNode* NodeOf(uint32_t communicator, uint64_t sequence) const;

  // The current call of a process: MPI_Finalize, the call that it is inside, the call that it polls
  // with, or its last call. nullptr if the process never made a call.
  const Event* CurrentEvent(uint32_t process) const;
  // The last call of the process if it was an unsuccessful poll; otherwise nullptr.
  const Event* LastPoll(uint32_t process) const;
  // The last call that a process is known to have made, finished or not, except polls.
  const Event* LastCall(uint32_t process) const;
  // All calls of a process on its communicators, in the order in which it made them.
  std::vector<const Event*> Timeline(uint32_t process) const;
  // Whether `holds` is true for one of the calls. Cheaper than Timeline(), which sorts the calls.
  template <typename Predicate>
  bool AnyCall(uint32_t process, const Predicate& holds) const {
    return std::ranges::any_of(trace.processes[process].p2p, holds) ||
           std::ranges::any_of(members_of_[process], [&](uint32_t member) {
             return std::ranges::any_of(trace.members[member].events, holds);
           });
  }
  uint64_t Site(const Event& event) const { return SiteKey(trace, sites, event); }
  // Whether both calls come from one call site, and are on one communicator.
  bool SameSite(const Event& a, const Event& b) const {
    return Site(a) == Site(b) && CommunicatorOf(a) == CommunicatorOf(b);
  }
  bool Finalizes(const Event& event) const { return Op(event) == Operation::kFinalize; }

  // The shift in a communicator's history; computed when first requested.
  const std::optional<Shift>& ShiftOf(uint32_t communicator) const;

 private:
  const Event* AwaitedOperation(uint32_t process, const OpenCall& call) const;

  std::vector<std::vector<uint32_t>> members_of_;  // by process
  std::vector<uint32_t> place_of_;  // by member: index in its CommunicatorHistory::members
  mutable std::vector<std::optional<std::optional<Shift>>> shifts_;
};

template <typename T>
bool Contains(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

// `all` without `some`: increasing, without duplicates.
std::vector<uint32_t> Without(std::vector<uint32_t> all, const std::vector<uint32_t>& some);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ALIGNED_TRACE_H_
