// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/thread_watch.h"

#include <string>

#include "collector/live/other_threads.h"
#include "collector/live/process_state.h"
#include "collector/live/process_watch.h"
#include "collector/live/thread_ids.h"

namespace rollcall::agent {
namespace {

constexpr uint32_t kThreadMultiple = 3;

}  // namespace

void ThreadWatch::Sample(const ProcSource& proc, pid_t pid, const RingSample& sample,
                         int64_t now_ns) {
  if (pid <= 0 || sample.polling.empty()) {
    watches_.clear();
    return;
  }
  const ThreadIds ids(proc, pid, sample.pid);
  std::map<uint32_t, PollWatch> watches;
  for (const PollingSample& poller : sample.polling) {
    PollWatch& watch = watches[poller.tid];
    if (const auto known = watches_.find(poller.tid); known != watches_.end()) {
      watch = known->second;
    }
    watch.Add({.at_ns = now_ns,
               .streak = poller.streak,
               .polls = poller.polls,
               .inside_share = poller.inside_share,
               .times = ReadThreadTimes(proc, pid, ids.ToLocalId(static_cast<pid_t>(poller.tid)))});
  }
  watches_ = std::move(watches);
}

std::vector<journal::TightPoll> ThreadWatch::TightPolls(int64_t realtime_offset_ns) const {
  std::vector<journal::TightPoll> polls;
  for (const auto& [tid, watch] : watches_) {
    const std::optional<int64_t> since = watch.TightSince();
    if (since) polls.push_back({.tid = tid, .since_ns = *since + realtime_offset_ns});
  }
  return polls;
}

std::set<pid_t> ThreadWatch::Waiting(const RingSample& sample) const {
  std::set<pid_t> waiting;
  for (const BlockedSample& blocked : sample.blocked) {
    waiting.insert(static_cast<pid_t>(blocked.tid));
  }
  for (const auto& [tid, watch] : watches_) {
    if (watch.TightSince()) waiting.insert(static_cast<pid_t>(tid));
  }
  return waiting;
}

int64_t ThreadWatch::CpuOutsideNs(const ProcSource& proc, pid_t pid,
                                  const RingSample& sample) const {
  if (sample.blocked.empty() && sample.polling.empty()) return ProcessCpuNs(pid);
  // A thread inside a call then waits for other processes, not for threads of its own process.
  if (!sample.blocked.empty() && sample.thread_level != kThreadMultiple) return 0;
  std::vector<int> tids;
  if (proc.ListNumbers("/proc/" + std::to_string(pid) + "/task", &tids) != 0) return 0;
  const ThreadIds ids(proc, pid, sample.pid);
  const std::set<pid_t> waiting = Waiting(sample);
  uint64_t cpu_ns = 0;
  for (const int tid : tids) {
    const pid_t own = ids.ToOwnId(tid);
    if (own == 0 || waiting.contains(own)) continue;
    if (const auto times = ReadThreadTimes(proc, pid, tid)) cpu_ns += times->cpu_ns;
  }
  return static_cast<int64_t>(cpu_ns);
}

OtherThreads ThreadWatch::SampleOthers(const ProcSource& proc, pid_t pid,
                                       const RingSample& sample) const {
  if (sample.thread_level != kThreadMultiple) return OtherThreads::kUnseen;
  if (sample.threads_unrecorded != 0) return OtherThreads::kCallers;
  if (pid <= 0) return OtherThreads::kUnseen;
  CallingThreads threads;
  for (const uint32_t tid : sample.callers) threads.called.insert(static_cast<pid_t>(tid));
  threads.waiting = Waiting(sample);
  return SampleOtherThreads(proc, pid, sample.pid, sample.process_start_ticks, threads);
}

}  // namespace rollcall::agent
