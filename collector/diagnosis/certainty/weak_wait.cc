// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/certainty/weak_wait.h"

#include <algorithm>
#include <iterator>

#include "collector/diagnosis/graph/stillness.h"

namespace rollcall {
namespace {

// `processes`, and all processes that the stuck ones among them wait for, directly or not.
std::vector<uint32_t> WaitedFor(const Analysis& analysis, const std::vector<uint32_t>& processes) {
  const WaitGraph& graph = analysis.graph;
  std::vector<bool> seen(graph.processes.size(), false);
  std::vector<bool> seen_node(graph.nodes.size(), false);
  std::vector<bool> seen_anybody(graph.any_source.size(), false);
  std::vector<uint32_t> all;
  const auto add = [&](uint32_t p) {
    if (seen[p]) return;
    seen[p] = true;
    all.push_back(p);
  };
  for (const uint32_t p : processes) add(p);
  for (size_t at = 0; at < all.size(); ++at) {
    if (!analysis.IsStuck(all[at])) continue;
    for (const WaitDependency& dependency : graph.processes[all[at]].dependencies) {
      if (dependency.process != kNoIndex) add(dependency.process);
      if (dependency.node != kNoIndex && !seen_node[dependency.node]) {
        seen_node[dependency.node] = true;
        for (const uint32_t p : graph.nodes[dependency.node].missing) add(p);
      }
      if (dependency.any_source != kNoIndex && !seen_anybody[dependency.any_source]) {
        seen_anybody[dependency.any_source] = true;
        for (const uint32_t p : graph.any_source[dependency.any_source].members) add(p);
      }
    }
  }
  return all;
}

// The weak waits of `processes`, and of the processes that they wait for.
WeakWait JudgeWeakWait(const Analysis& analysis, const std::vector<uint32_t>& processes) {
  const DiagnoseOptions& options = analysis.options;
  WeakWait wait;
  bool loose = false;
  bool judged = true;
  int64_t waited_ns = INT64_MAX;
  std::vector<uint32_t> all = WaitedFor(analysis, processes);
  std::ranges::sort(all);
  for (const uint32_t p : all) {
    const ProcessView& view = analysis.graph.processes[p];
    const Process& process = analysis.trace.processes[p];
    // A process that just began to wait has not waited for long, either.
    const int64_t idle_ns = analysis.IsStuck(p) ? analysis.IdleNs(p) : -1;
    if (idle_ns >= 0) waited_ns = std::min(waited_ns, idle_ns);
    if (view.WaitsUncounted()) wait.uncounted.push_back(p);
    if (!view.weak && !view.WaitsUncounted()) continue;
    const Thread* poller = WaitingPoller(options, process);
    loose |= poller != nullptr && !PollsTightly(*poller);
    judged &= analysis.WasJudged(p);
    waited_ns = std::min(waited_ns, WaitedNs(options, process));
    if (!view.weak) continue;
    if (poller != nullptr) wait.polling.push_back(p);
    if (process.thread_level != 3) continue;
    if (process.other_threads == OtherThreads::kOutside) wait.with_threads.push_back(p);
    if (process.other_threads == OtherThreads::kUnseen) wait.unseen.push_back(p);
  }
  // The waiting time was not observed, and no further evidence will come.
  const bool over = waited_ns < 0 && options.job_ended;
  if (waited_ns >= options.LikelyAfterNs() && !loose && wait.uncounted.empty()) {
    wait.certainty = Certainty::kLikely;
  } else if (waited_ns >= options.SuspectAfterNs() || judged || over) {
    wait.certainty = Certainty::kSuspected;
  }
  return wait;
}

// How a process waits for the subject of an incident. Its threads may wait for different things.
enum class Manner : uint8_t { kNotAtAll, kByPolling, kInside };

Manner MannerOf(const Analysis& analysis, const Incident& incident, uint32_t p) {
  if (!analysis.Waits(p)) return Manner::kNotAtAll;
  const ProcessView& view = analysis.graph.processes[p];
  if (view.activity == Activity::kPolling) return Manner::kByPolling;
  if (view.dependencies.empty()) return Manner::kInside;
  Manner manner = Manner::kNotAtAll;
  for (const WaitDependency& dependency : view.dependencies) {
    const uint64_t sequence =
        dependency.node == kNoIndex ? 0 : analysis.graph.nodes[dependency.node].sequence;
    const uint32_t communicator = analysis.trace.members[dependency.event->member].communicator;
    if (communicator != incident.communicator || sequence != incident.sequence) continue;
    manner = std::max(manner, dependency.polled ? Manner::kByPolling : Manner::kInside);
  }
  return manner;
}

}  // namespace

std::optional<WeakWait> FindWeakWait(const Analysis& analysis, const Incident& incident) {
  if (!incident.hangs) return std::nullopt;
  std::vector<uint32_t> involved = incident.deviating;
  involved.insert(involved.end(), incident.agreeing.begin(), incident.agreeing.end());
  // The firmest wait decides: it makes the job hang, whatever the other processes may do.
  const auto any = [&](bool (Analysis::*is)(uint32_t) const) {
    return std::ranges::any_of(involved, [&](uint32_t p) { return (analysis.*is)(p); });
  };
  if (any(&Analysis::IsStuckFirmly)) return std::nullopt;
  if (!any(&Analysis::IsStuck)) {
    // A late rank may have sent the awaited message before.
    WeakWait wait;
    wait.certainty = Certainty::kSuspected;
    std::copy_if(involved.begin(), involved.end(), std::back_inserter(wait.uncounted),
                 [&](uint32_t p) { return analysis.graph.processes[p].WaitsUncounted(); });
    if (!wait.uncounted.empty()) return wait;
    // The hang is not certain, either, if all waiting processes poll: a request that they test next
    // may be complete.
    Manner firmest = Manner::kNotAtAll;
    for (const uint32_t p : involved) firmest = std::max(firmest, MannerOf(analysis, incident, p));
    if (firmest != Manner::kByPolling) return std::nullopt;
  }
  return JudgeWeakWait(analysis, involved);
}

}  // namespace rollcall
