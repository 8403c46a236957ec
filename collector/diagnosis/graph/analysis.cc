// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/analysis.h"

#include <algorithm>
#include <utility>

namespace rollcall {
namespace {

// Whether the process can be part of a proof: its records are complete, and only one of its threads
// could act.
bool Reliable(const Process& process) {
  return process.quiet && process.thread_level >= 0 && process.thread_level <= 2 &&
         process.records_unreadable == 0 && process.table_overflows == 0;
}

// The rules by which a process is considered to wait.
enum class Waits : uint8_t {
  kAll,       // every process that appears to wait
  kFirm,      // without weak waits, and without waits for messages that may have arrived uncounted
  kStandard,  // what the standard requires, on complete records
};

// Computes which processes can act: a least fixpoint, by a worklist. Indexed by process.
std::vector<bool> ComputeRunnable(const Trace& trace, const WaitGraph& graph,
                                  const std::vector<bool>& mismatched, Waits waits) {
  const bool strict = waits == Waits::kStandard;
  const size_t count = graph.processes.size();
  std::vector<bool> can(count, false);
  std::vector<std::vector<uint32_t>> waiters(count);  // processes to examine when one can act
  std::vector<uint32_t> work;
  // A member that is missing from a node concerns every process inside. The node counts its missing
  // members, so that no list of pairs is needed.
  std::vector<std::vector<uint32_t>> nodes_of(count);
  std::vector<uint32_t> missing_left(graph.nodes.size());
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (const uint32_t p : graph.nodes[n].missing) nodes_of[p].push_back(n);
    missing_left[n] = static_cast<uint32_t>(graph.nodes[n].missing.size());
  }
  // The same for the members that a receive from any source waits for.
  std::vector<std::vector<uint32_t>> anybodies_of(count);
  std::vector<std::vector<uint32_t>> waiters_of(graph.any_source.size());
  std::vector<bool> somebody_can(graph.any_source.size(), false);
  for (uint32_t i = 0; i < graph.any_source.size(); ++i) {
    for (const uint32_t p : graph.any_source[i].members) anybodies_of[p].push_back(i);
  }
  for (uint32_t p = 0; p < count; ++p) {
    for (const WaitDependency& dependency : graph.processes[p].dependencies) {
      if (dependency.process != kNoIndex) waiters[dependency.process].push_back(p);
      if (dependency.any_source != kNoIndex) waiters_of[dependency.any_source].push_back(p);
      for (const uint32_t other : dependency.relevant) waiters[other].push_back(p);
    }
  }
  const auto satisfied = [&](const WaitDependency& dependency) {
    if ((strict && !dependency.strict) || (dependency.uncounted && waits != Waits::kAll))
      return true;
    // `somebody_can` was set by another process: a waiter that can act itself is not examined
    // again.
    if (dependency.any_source != kNoIndex) return bool{somebody_can[dependency.any_source]};
    if (dependency.process != kNoIndex) return bool{can[dependency.process]};
    if (mismatched[dependency.node] || dependency.unanswered) return false;
    if (!dependency.relevant.empty()) {
      return std::ranges::all_of(dependency.relevant, [&can](uint32_t p) { return can[p]; });
    }
    return missing_left[dependency.node] == 0;
  };
  const auto try_release = [&](uint32_t p) {
    const ProcessView& view = graph.processes[p];
    if (can[p] || view.activity == Activity::kLeft || view.activity == Activity::kEnded) return;
    bool free = view.dependencies.empty() || view.activity == Activity::kRunning ||
                (view.weak && waits != Waits::kAll) || (strict && !Reliable(trace.processes[p]));
    if (!free) {
      free = view.any ? view.released || std::ranges::any_of(view.dependencies, satisfied)
                      : std::ranges::all_of(view.dependencies, satisfied);
    }
    if (free) {
      can[p] = true;
      work.push_back(p);
    }
  };
  for (uint32_t p = 0; p < count; ++p) try_release(p);
  while (!work.empty()) {
    const uint32_t p = work.back();
    work.pop_back();
    for (const uint32_t waiter : waiters[p]) try_release(waiter);
    for (const uint32_t i : anybodies_of[p]) {
      if (somebody_can[i]) continue;
      somebody_can[i] = true;
      for (const uint32_t waiter : waiters_of[i]) try_release(waiter);
    }
    for (const uint32_t n : nodes_of[p]) {
      if (--missing_left[n] != 0) continue;
      for (const uint32_t inside : graph.nodes[n].inside) try_release(inside);
    }
  }
  return can;
}

}  // namespace

Analysis::Analysis(AlignedTrace aligned, const std::vector<uint32_t>& mismatched)
    : AlignedTrace(std::move(aligned)), mismatched_(graph.nodes.size(), false) {
  for (const uint32_t node : mismatched) mismatched_[node] = true;
  runnable_ = ComputeRunnable(trace, graph, mismatched_, Waits::kAll);
  runnable_firmly_ = ComputeRunnable(trace, graph, mismatched_, Waits::kFirm);
  runnable_strictly_ = ComputeRunnable(trace, graph, mismatched_, Waits::kStandard);
}

}  // namespace rollcall
