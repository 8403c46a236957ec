#include "collector/diagnosis/stillness.h"

#include <algorithm>

namespace rollcall {
namespace {

// The picture of an ended process is of its end: it may have been copied days later.
int64_t PictureNs(const DiagnoseOptions& options, const Process& process) {
  // Ranks may outlive the launcher, with which the job is over.
  const bool ended = options.job_ended && process.end.how != ProcessEnd::How::kAlive;
  return ended ? process.end.at_ns : process.taken_at_ns;
}

bool PollsTightly(const Thread& thread) {
  return thread.polling && !thread.ended && thread.polls_tightly_since_ns != kNoTime;
}

// For how long a weak wait has looked like one; -1 if unknown.
int64_t WaitedNs(const DiagnoseOptions& options, const Process& process) {
  const int64_t idle_ns = IdleNs(options, process);
  const Thread* poller = WaitingPoller(options, process);
  if (poller == nullptr || !PollsTightly(*poller)) return idle_ns;
  const int64_t now = PictureNs(options, process);
  int64_t since = kNoTime;  // of the one that began last
  for (const Thread& thread : process.threads) {
    if (PollsTightly(thread)) since = std::max(since, thread.polls_tightly_since_ns);
  }
  return idle_ns < 0 || now == kNoTime ? -1 : std::min(idle_ns, std::max<int64_t>(0, now - since));
}

// `processes`, and all that stuck ones among them wait for, directly or not.
std::vector<uint32_t> WaitedFor(const WaitGraph& graph, const std::vector<uint32_t>& processes) {
  std::vector<bool> seen(graph.processes.size(), false);
  std::vector<bool> seen_node(graph.nodes.size(), false);
  std::vector<bool> seen_anybody(graph.anybody.size(), false);
  std::vector<uint32_t> all;
  const auto add = [&](uint32_t p) {
    if (seen[p]) return;
    seen[p] = true;
    all.push_back(p);
  };
  for (const uint32_t p : processes) add(p);
  for (size_t at = 0; at < all.size(); ++at) {
    const ProcessView& view = graph.processes[all[at]];
    if (!view.stuck) continue;
    for (const Need& need : view.needs) {
      if (need.process != kNoIndex) add(need.process);
      if (need.node != kNoIndex && !seen_node[need.node]) {
        seen_node[need.node] = true;
        for (const uint32_t p : graph.nodes[need.node].missing) add(p);
      }
      if (need.anybody != kNoIndex && !seen_anybody[need.anybody]) {
        seen_anybody[need.anybody] = true;
        for (const uint32_t p : graph.anybody[need.anybody].members) add(p);
      }
    }
  }
  return all;
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

WeakWait JudgeWeakWait(const Trace& trace, const DiagnoseOptions& options, const WaitGraph& graph,
                       const std::vector<uint32_t>& processes) {
  WeakWait wait;
  bool loose = false;
  bool judged = true;
  int64_t waited_ns = INT64_MAX;
  std::vector<uint32_t> all = WaitedFor(graph, processes);
  std::sort(all.begin(), all.end());
  for (const uint32_t p : all) {
    const ProcessView& view = graph.processes[p];
    const Process& process = trace.processes[p];
    // Who came to wait just now will not have waited for long either.
    const int64_t idle_ns = view.stuck ? IdleNs(options, process) : -1;
    if (idle_ns >= 0) waited_ns = std::min(waited_ns, idle_ns);
    if (view.WaitsUncounted()) wait.uncounted.push_back(p);
    if (!view.weak && !view.WaitsUncounted()) continue;
    const Thread* poller = WaitingPoller(options, process);
    loose |= poller != nullptr && !PollsTightly(*poller);
    judged &= WasJudged(options, process);
    waited_ns = std::min(waited_ns, WaitedNs(options, process));
    if (!view.weak) continue;
    if (poller != nullptr) wait.polling.push_back(p);
    if (process.thread_level != 3) continue;
    if (process.other_threads == OtherThreads::kOutside) wait.with_threads.push_back(p);
    if (process.other_threads == OtherThreads::kUnseen) wait.unseen.push_back(p);
  }
  // Nobody saw for how long, and nothing will come of it any more.
  const bool over = waited_ns < 0 && options.job_ended;
  if (waited_ns >= options.LikelyAfterNs() && !loose && wait.uncounted.empty()) {
    wait.certainty = Certainty::kLikely;
  } else if (waited_ns >= options.SuspectAfterNs() || judged || over) {
    wait.certainty = Certainty::kSuspected;
  }
  return wait;
}

}  // namespace rollcall
