// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/aligned_trace.h"

#include <algorithm>

#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

int64_t LastMovement(const Trace& trace) {
  int64_t last = kNoTime;
  for (const Process& process : trace.processes) {
    for (const Thread& thread : process.threads) last = std::max(last, thread.last_end_ns);
    for (const OpenCall& call : process.open_calls) last = std::max(last, call.event.start_ns);
  }
  return last;
}

int64_t NoProgress(const Trace& trace, const DiagnoseOptions& options) {
  const int64_t last = LastMovement(trace);
  int64_t now = trace.taken_at_ns;
  if (options.job_ended) {
    // The snapshot may have been taken days later, so the last end of a process counts.
    now = kNoTime;
    for (const Process& process : trace.processes) now = std::max(now, process.end.at_ns);
  }
  return last == kNoTime || now == kNoTime || now < last ? -1 : now - last;
}

}  // namespace

AlignedTrace::AlignedTrace(const Trace& trace_in, const DiagnoseOptions& options_in)
    : trace(trace_in), options(options_in), sites(trace_in) {
  histories.reserve(trace.communicators.size());
  for (uint32_t c = 0; c < trace.communicators.size(); ++c)
    histories.push_back(BuildHistory(trace, c));
  graph = BuildWaitGraph(trace, options, histories);
  device = BuildDeviceWaits(trace, histories);
  MarkDeviceWaiters(trace, &graph);
  places = BuildPlaces(trace, sites);
  no_progress_ns = NoProgress(trace, options);
  members_of_.resize(trace.processes.size());
  for (uint32_t m = 0; m < trace.members.size(); ++m) {
    const uint32_t process = trace.members[m].process;
    if (process != kNoIndex) members_of_[process].push_back(m);
  }
  place_of_.resize(trace.members.size(), kNoIndex);
  for (const CommunicatorHistory& history : histories) {
    for (uint32_t i = 0; i < history.members.size(); ++i) {
      place_of_[history.members[i].member_index] = i;
    }
  }
  shifts_.resize(trace.communicators.size());
}

std::vector<int32_t> AlignedTrace::RanksOf(const std::vector<uint32_t>& processes) const {
  std::vector<int32_t> ranks;
  ranks.reserve(processes.size());
  for (const uint32_t process : processes) ranks.push_back(RankOf(process));
  Normalize(&ranks);
  return ranks;
}

bool AlignedTrace::AnyEnded() const {
  return std::ranges::any_of(
      graph.processes, [](const ProcessView& view) { return view.activity == Activity::kEnded; });
}

bool AlignedTrace::AllStill(const std::vector<uint32_t>& processes) const {
  return std::ranges::all_of(processes, [this](uint32_t process) { return Still(process); });
}

bool AlignedTrace::StoodStill(uint32_t process, int64_t times) const {
  const bool long_enough = IdleNs(process) >= times * options.stall_after_ns;
  return Still(process) && (WasJudged(process) || long_enough);
}

bool AlignedTrace::EnteredRecently(uint32_t process) const {
  constexpr int64_t kLongEnoughNs = 700'000'000;
  const bool alive = trace.processes[process].end.how == ProcessEnd::How::kAlive;
  const int64_t idle_ns = IdleNs(process);
  return alive && !options.job_ended && idle_ns >= 0 && idle_ns < kLongEnoughNs;
}

const MemberHistory* AlignedTrace::HistoryOf(uint32_t communicator, uint32_t process) const {
  if (communicator >= histories.size()) return nullptr;  // kNoIndex: a call without a communicator
  if (process >= members_of_.size()) return nullptr;     // kNoIndex: it has no trace
  for (const uint32_t m : members_of_[process]) {
    if (trace.members[m].communicator != communicator || place_of_[m] == kNoIndex) continue;
    return &histories[communicator].members[place_of_[m]];
  }
  return nullptr;
}

const CollectiveNode* AlignedTrace::NodeOf(uint32_t communicator, uint64_t sequence) const {
  const auto found = graph.node_index.find(WaitGraph::NodeKey(communicator, sequence));
  return found == graph.node_index.end() ? nullptr : &graph.nodes[found->second];
}

const Event* AlignedTrace::LastCall(uint32_t process) const {
  const Event* last = nullptr;
  const auto look = [&last](const Event& event) {
    if (last == nullptr || event.start_ns >= last->start_ns) last = &event;
  };
  const Process& record = trace.processes[process];
  for (const uint32_t m : members_of_[process]) {
    if (!trace.members[m].events.empty()) look(trace.members[m].events.back());
  }
  if (!record.p2p.empty()) look(record.p2p.back());
  for (const OpenCall& call : record.open_calls) look(call.event);
  return last;
}

const Event* AlignedTrace::LastPoll(uint32_t process) const {
  for (const Thread& thread : trace.processes[process].threads) {
    const bool polls = thread.polling && !thread.ended && thread.asks.arguments != kNoIndex;
    if (polls) return &thread.asks;
  }
  return nullptr;
}

// The operation for which `call` waits. All operations of PyTorch return at once, and the host
// waits for them in a second call, but the user's code names the operation. nullptr for other
// calls.
const Event* AlignedTrace::AwaitedOperation(uint32_t process, const OpenCall& call) const {
  if (!IsC10d(Op(call.event)) || call.requests.empty()) return nullptr;
  for (const OpenRequest& request : trace.processes[process].open_requests) {
    if (request.uid == call.requests.front()) return &request.event;
  }
  return nullptr;
}

const Event* AlignedTrace::CurrentEvent(uint32_t process) const {
  const ProcessView& view = graph.processes[process];
  if (view.finalize != nullptr) return view.finalize;
  if (view.open != nullptr) {
    const Event* operation = AwaitedOperation(process, *view.open);
    return operation != nullptr ? operation : &view.open->event;
  }
  if (const Event* poll = LastPoll(process)) return poll;
  const Process& record = trace.processes[process];
  for (const OpenRequest& request : record.open_requests) {
    if (record.device && IsOnDevice(Op(request.event))) return &request.event;
  }
  return LastCall(process);
}

std::vector<const Event*> AlignedTrace::Timeline(uint32_t process) const {
  std::vector<const Event*> events;
  for (const uint32_t m : members_of_[process]) {
    for (const Event& event : trace.members[m].events) events.push_back(&event);
  }
  for (const Event& event : trace.processes[process].p2p) events.push_back(&event);
  std::ranges::stable_sort(
      events, [](const Event* a, const Event* b) { return a->start_ns < b->start_ns; });
  return events;
}

const std::optional<Shift>& AlignedTrace::ShiftOf(uint32_t communicator) const {
  std::optional<std::optional<Shift>>& cached = shifts_[communicator];
  if (!cached) {
    cached = histories[communicator].ordered ? FindShift(trace, sites, histories[communicator])
                                             : std::nullopt;
  }
  return *cached;
}

std::vector<uint32_t> Without(std::vector<uint32_t> all, const std::vector<uint32_t>& some) {
  std::vector<uint32_t> sorted = some;
  std::ranges::sort(sorted);
  std::erase_if(
      all, [&sorted](uint32_t process) { return std::ranges::binary_search(sorted, process); });
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace rollcall
