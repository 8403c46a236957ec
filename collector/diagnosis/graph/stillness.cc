// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/stillness.h"

#include <algorithm>

namespace rollcall {
namespace {

// The snapshot of an ended process shows its end, even if it was copied days later.
int64_t PictureNs(const DiagnoseOptions& options, const Process& process) {
  // Ranks may outlive the launcher, whose end is the end of the job.
  const bool ended = options.job_ended && process.end.how != ProcessEnd::How::kAlive;
  return ended ? process.end.at_ns : process.taken_at_ns;
}

}  // namespace

int64_t IdleNs(const DiagnoseOptions& options, const Process& process) {
  const int64_t now = PictureNs(options, process);
  const int64_t last = process.idle_since_ns;
  if (now == kNoTime || last == kNoTime) return -1;
  return std::max<int64_t>(0, now - last);  // a movement may be noticed after the end
}

bool WasJudged(const DiagnoseOptions& options, const Process& process) {
  return options.job_ended && process.judged_ns != kNoTime;
}

bool PollsTightly(const Thread& thread) {
  return thread.polling && !thread.ended && thread.polls_tightly_since_ns != kNoTime;
}

const Thread* WaitingPoller(const DiagnoseOptions& options, const Process& process) {
  const Thread* loose = nullptr;
  for (const Thread& thread : process.threads) {
    if (PollsTightly(thread)) return &thread;
    if (WaitsByPolling(options, process, thread)) loose = &thread;
  }
  return loose;
}

bool WaitsByPolling(const DiagnoseOptions& options, const Process& process, const Thread& thread) {
  return PollsTightly(thread) ||
         (thread.polling && !thread.ended && IdleNs(options, process) >= options.stall_after_ns);
}

int64_t WaitedNs(const DiagnoseOptions& options, const Process& process) {
  const int64_t idle_ns = IdleNs(options, process);
  const Thread* poller = WaitingPoller(options, process);
  if (poller == nullptr || !PollsTightly(*poller)) return idle_ns;
  const int64_t now = PictureNs(options, process);
  int64_t since = kNoTime;  // when the last of the threads began
  for (const Thread& thread : process.threads) {
    if (PollsTightly(thread)) since = std::max(since, thread.polls_tightly_since_ns);
  }
  return idle_ns < 0 || now == kNoTime ? -1 : std::min(idle_ns, std::max<int64_t>(0, now - since));
}

}  // namespace rollcall
