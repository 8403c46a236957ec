// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/wait_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "collector/diagnosis/graph/collective_dependencies.h"
#include "collector/diagnosis/graph/deaths.h"
#include "collector/diagnosis/graph/message_supply.h"
#include "collector/diagnosis/graph/places.h"
#include "collector/diagnosis/graph/stillness.h"
#include "collector/model/messages.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const Trace& trace, const DiagnoseOptions& options,
               const std::vector<CommunicatorHistory>& histories)
      : trace_(trace), options_(options), histories_(histories) {}

  WaitGraph Build() {
    graph_.processes.resize(trace_.processes.size());
    for (const Creation& creation : trace_.creations) {
      if (creation.event.end_ns == kNoTime) creating_.insert(creation.process);
    }
    if (trace_.HasRecords()) {
      for (uint32_t p = 0; p < trace_.processes.size(); ++p) FillView(p);
    } else {
      ViewPlaces();
    }
    Sort();
    for (CollectiveNode& node : graph_.nodes) Complete(&node);
    // The dependencies of a call depend on which ranks are missing.
    CollectiveDependencies collective_needs(trace_, histories_);
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      for (WaitDependency& dependency : graph_.processes[p].dependencies) {
        if (dependency.node == kNoIndex) continue;
        const CollectiveNode& node = graph_.nodes[dependency.node];
        collective_needs.Refine(p, node, &dependency);
        if (!IsOnTopology(FindOperation(static_cast<uint16_t>(Op(*dependency.event))).rule))
          continue;
        const auto [edges, added] = graph_.odd_edges.try_emplace(node.communicator);
        if (added) edges->second = FindOddEdges(trace_, trace_.communicators[node.communicator]);
        collective_needs.RefineByEdges(node, edges->second, &dependency);
      }
    }
    return std::move(graph_);
  }

 private:
  void Sort() {
    for (AnySourceWait& any_source : graph_.any_source) {
      for (const uint32_t p : any_source.members) {
        const Activity activity = graph_.processes[p].activity;
        if (activity == Activity::kEnded) any_source.ended.push_back(p);
        if (activity == Activity::kLeft) any_source.left.push_back(p);
        if (activity == Activity::kRunning) any_source.running.push_back(p);
      }
    }
  }

  // The trace does not show which ranks a process without records waits for: it has no
  // dependencies.
  void ViewPlaces() {
    const std::vector<Position> positions = PositionsOf(trace_);
    for (uint32_t p = 0; p < positions.size(); ++p) {
      const Process& process = trace_.processes[p];
      ProcessView& view = graph_.processes[p];
      const StackMeaning& meaning = process.place->meaning;
      const bool exits = meaning.meaning == FrameMeaning::kExit;
      const bool finalizes = meaning.operation == Operation::kFinalize;
      if (!process.open_calls.empty()) view.open = &process.open_calls.front();
      if (finalizes && view.open != nullptr) view.finalize = &view.open->event;
      if (positions[p] == Position::kGone) {
        view.activity = Activity::kEnded;
      } else if (positions[p] == Position::kWaiting) {
        view.activity = Activity::kBlocked;
      } else if (positions[p] == Position::kOutside && exits && !process.place->stopped) {
        view.activity = finalizes ? Activity::kLeft : Activity::kEnded;
      }
    }
  }

  void FillView(uint32_t p) {
    const Process& process = trace_.processes[p];
    ProcessView& view = graph_.processes[p];
    for (const Event& event : process.lifecycle) {
      if (Op(event) == Operation::kFinalize) view.finalize = &event;
    }
    for (const OpenCall& call : process.open_calls) {
      if (Op(call.event) == Operation::kFinalize) {
        view.finalize = &call.event;
      } else if (view.open == nullptr || call.depth > view.open->depth) {
        view.open = &call;
      }
    }
    // The process lost the connection to a rank that had left. Without the exception, it would wait
    // for that rank.
    const bool lost = FailedInACall(trace_, process) && AnotherLeft(process);
    if (process.exception && !lost) {
      view.activity = Activity::kEnded;
      return;
    }
    const bool finalizes = process.phase >= ring::Phase::kFinalizing || view.finalize != nullptr;
    if (finalizes && !process.ended_by) {
      view.activity = Activity::kLeft;
      return;
    }
    if (!lost && (deaths_.ByItself(process) || IsInsideRejected(process))) {
      view.activity = Activity::kEnded;
      return;
    }
    if (view.open != nullptr && IsPoll(KindOf(view.open->event))) view.open = nullptr;
    const bool multiple = process.thread_level == 3 && !process.device;
    if (multiple) {
      if (process.other_threads == OtherThreads::kCallers) return;  // it may act at any time
      // The same holds if a thread polls with work in between, and the threads were not observed or
      // none of them waits.
      const bool loose = std::ranges::any_of(
          process.threads, [&](const Thread& thread) { return IsLoose(process, thread); });
      const bool alone = process.other_threads == OtherThreads::kUnseen ||
                         WaitingPoller(options_, process) == nullptr;
      if (loose && alone) return;
      view.weak = process.other_threads != OtherThreads::kWait;
    }
    uint32_t threads_waiting = 0;
    if (view.open != nullptr) {
      view.activity = Activity::kBlocked;
      for (const OpenCall& call : process.open_calls) {
        if (Op(call.event) == Operation::kFinalize) continue;
        const bool innermost =
            std::ranges::none_of(process.open_calls, [&call](const OpenCall& other) {
              return other.event.thread == call.event.thread && other.depth > call.depth;
            });
        if (!innermost) continue;
        ++threads_waiting;
        AddNeeds(p, call);
      }
    }
    // Without MPI_THREAD_MULTIPLE, no other thread polls while one is inside a call.
    if (view.open == nullptr || multiple) threads_waiting += AddPollers(p);
    // Any of several threads may be the one that continues.
    if (threads_waiting > 1) view.any = true;
    if (threads_waiting > 0) return;
    if (creating_.contains(p) || !process.held_up_by.empty()) {
      // The process is inside a call, and the rank that could release it is not recorded. Nothing
      // about the process is proven.
      view.activity = Activity::kBlocked;
    }
  }

  // Whether another rank of the job has finalized without an exception.
  bool AnotherLeft(const Process& process) const {
    const std::vector<uint32_t>& all = trace_.worlds[process.world].processes;
    return std::ranges::any_of(all, [&](uint32_t other) {
      return other != kNoIndex && &trace_.processes[other] != &process &&
             trace_.processes[other].phase >= ring::Phase::kFinalized &&
             !trace_.processes[other].exception;
    });
  }

  bool IsLoose(const Process& process, const Thread& thread) const {
    return thread.polling && !thread.ended && !WaitsByPolling(options_, process, thread);
  }

  // Adds the dependencies of the polling threads and returns the number of these threads. A thread
  // that polls loosely is outside every call. At level MULTIPLE, OtherThreads covers its possible
  // actions. Below that level, it may act in place of the thread that polls tightly.
  uint32_t AddPollers(uint32_t p) {
    const Process& process = trace_.processes[p];
    ProcessView& view = graph_.processes[p];
    if (WaitingPoller(options_, process) == nullptr) return 0;
    if (process.thread_level != 3 &&
        std::ranges::any_of(process.threads,
                            [&](const Thread& thread) { return IsLoose(process, thread); })) {
      return 0;
    }
    if (view.activity == Activity::kRunning) view.activity = Activity::kPolling;
    view.any = true;
    view.weak = true;
    const auto first = static_cast<ptrdiff_t>(view.dependencies.size());
    uint32_t pollers = 0;
    bool may_test = false;
    for (const Thread& thread : process.threads) {
      if (!WaitsByPolling(options_, process, thread)) continue;
      ++pollers;
      const bool probes = thread.asks.arguments != kNoIndex && KindOf(thread.asks) == Kind::kIprobe;
      if (probes) AddDependency(p, thread.asks);
      // A thread that polls tightly polls for one thing only: if it probes, it tests no request.
      may_test |= !probes || !PollsTightly(thread);
    }
    for (const OpenRequest& request : process.open_requests) {
      if (may_test && request.state == ring::RequestState::kActive) AddRequest(p, request);
    }
    std::for_each(view.dependencies.begin() + first, view.dependencies.end(),
                  [](WaitDependency& dependency) { dependency.polled = true; });
    return pollers;
  }

  Operation Op(const Event& event) const { return trace_.arguments[event.arguments].operation; }
  Kind KindOf(const Event& event) const {
    return FindOperation(static_cast<uint16_t>(Op(event))).kind;
  }

  void AddNeeds(uint32_t p, const OpenCall& call) {
    ProcessView& view = graph_.processes[p];
    // A host that enqueues an operation of a process group may wait in the call until the ranks are
    // connected. The operation itself waits on the device (device_waits.h).
    if (IsC10dOnDevice(Op(call.event)) &&
        IsEnqueued(FindOperation(static_cast<uint16_t>(Op(call.event))))) {
      return;
    }
    switch (KindOf(call.event)) {
      case Kind::kWaitany:
      case Kind::kWaitsome:
        view.any = true;
        [[fallthrough]];
      case Kind::kWait:
      case Kind::kWaitall:
        AddRequests(p, call);
        break;
      default:
        AddDependency(p, call.event);
    }
  }

  void AddRequests(uint32_t p, const OpenCall& call) {
    size_t active = 0;
    for (const OpenRequest& request : trace_.processes[p].open_requests) {
      if (request.state != ring::RequestState::kActive ||
          std::ranges::find(call.requests, request.uid) == call.requests.end()) {
        continue;
      }
      ++active;
      AddRequest(p, request);
    }
    // A request that is no longer open is complete, or the request table had no room for it.
    if (active < call.requests.size()) graph_.processes[p].released = true;
  }

  // After MPI_Cancel, the wait for the request is local (MPI 4.0, 3.8.4): no other process is
  // needed.
  void AddRequest(uint32_t p, const OpenRequest& request) {
    if (request.cancelled) {
      graph_.processes[p].released = true;
    } else {
      AddDependency(p, request.event, request.starts);
    }
  }

  // `starts`: for a persistent request, the number of its starts.
  void AddDependency(uint32_t p, const Event& event, uint64_t starts = 0) {
    if (event.member == kNoIndex) {
      graph_.processes[p].released = true;
      return;
    }
    const uint32_t communicator = trace_.members[event.member].communicator;
    ProcessView& view = graph_.processes[p];
    if (event.sequence != 0 && IsCollective(KindOf(event))) {
      WaitDependency dependency;
      dependency.event = &event;
      dependency.node = NodeAt(communicator, event.sequence, starts);
      std::vector<uint32_t>& inside = graph_.nodes[dependency.node].inside;
      if (inside.empty() || inside.back() != p) inside.push_back(p);
      view.dependencies.push_back(std::move(dependency));
      return;
    }
    const Messages messages = MessagesOf(trace_.arguments[event.arguments]);
    if (messages.empty()) view.released = true;
    for (const Message& message : messages) {
      WaitDependency dependency;
      dependency.event = &event;
      if (DependsOnPeers(p, communicator, message, event, starts, &dependency)) {
        view.dependencies.push_back(std::move(dependency));
      } else {
        view.released = true;
      }
    }
  }

  uint32_t NodeAt(uint32_t communicator, uint64_t sequence, uint64_t start) {
    const uint64_t key = WaitGraph::NodeKey(communicator, sequence);
    const auto [first, end] = graph_.node_index.equal_range(key);
    for (auto it = first; it != end; ++it) {
      if (graph_.nodes[it->second].start == start) return it->second;
    }
    const auto index = static_cast<uint32_t>(graph_.nodes.size());
    graph_.node_index.emplace(key, index);
    graph_.nodes.emplace_back();
    graph_.nodes.back().communicator = communicator;
    graph_.nodes.back().sequence = sequence;
    graph_.nodes.back().start = start;
    return index;
  }

  // Fills in the processes that could send or receive the message. Returns false if the message is
  // on its way already, or cannot be judged.
  bool DependsOnPeers(uint32_t p, uint32_t communicator, const Message& message, const Event& event,
                      uint64_t starts, WaitDependency* dependency) {
    if (message.matched || HasOutsiders(trace_.communicators[communicator])) return false;
    dependency->sends = message.sends;
    const std::vector<int32_t>& peers = messages_.Peers(communicator, trace_.processes[p].rank);
    const uint32_t world = trace_.processes[p].world;
    const int32_t peer = message.peer;
    if (peer == ring::kAnySource) {
      dependency->any_source = AnySourceWaitOf(world, communicator, peers);
      if (graph_.any_source[dependency->any_source].absent) return false;  // may still be sent
    } else {
      if (peer < 0 || static_cast<size_t>(peer) >= peers.size()) return false;
      dependency->process = ProcessOf(trace_, world, peers[static_cast<size_t>(peer)]);
      if (dependency->process == kNoIndex) return false;
    }
    // A partitioned send completes when all its partitions are marked ready by the process itself
    // (MPI 4.0, 4.2.1). A polling process may mark them next, and a partition that it tests may
    // arrive before the others.
    const bool blocked = graph_.processes[p].activity == Activity::kBlocked;
    if (message.partitioned && blocked && dependency->process != kNoIndex) {
      dependency->unmarked = message.sends ? messages_.UnmarkedOf(p, event)
                                           : messages_.UnmarkedFor(p, dependency->process,
                                                                   communicator, message, starts);
      if (message.sends && dependency->unmarked != 0) dependency->process = p;
      if (dependency->unmarked != 0) return true;
    }
    if (message.sends) dependency->strict = message.synchronous;
    const Counted there =
        message.sends ? messages_.BeingTaken(p, communicator, dependency->process, message, event)
                      : messages_.OnItsWay(p, communicator, message, event);
    dependency->uncounted = there == Counted::kUnknown;
    return there != Counted::kYes;
  }

  uint32_t AnySourceWaitOf(uint32_t world, uint32_t communicator,
                           const std::vector<int32_t>& peers) {
    const bool local = &peers == &trace_.communicators[communicator].ranks;
    const auto [entry, added] = anybody_.emplace(std::tuple(world, communicator, local),
                                                 static_cast<uint32_t>(graph_.any_source.size()));
    if (!added) return entry->second;
    AnySourceWait any_source;
    any_source.other_group = !trace_.communicators[communicator].remote_ranks.empty();
    for (const int32_t rank : peers) {
      const uint32_t process = ProcessOf(trace_, world, rank);
      any_source.absent |= process == kNoIndex;
      if (process != kNoIndex) any_source.members.push_back(process);
    }
    graph_.any_source.push_back(std::move(any_source));
    return entry->second;
  }

  void Complete(CollectiveNode* node) const {
    const CommunicatorHistory& histories = histories_[node->communicator];
    node->absent = histories.absent;
    for (const MemberHistory& history : histories.members) {
      if (history.entered < node->sequence) {
        node->missing.push_back(history.process);
      } else if (node->start != 0) {
        const std::optional<uint64_t> starts = Starts(history, *node);
        node->unknown |= !starts.has_value();
        if (starts.value_or(node->start) < node->start) node->missing.push_back(history.process);
      }
    }
  }

  // How often a member has started the persistent collective; empty if that is no longer recorded.
  // Persistent collectives match start by start (MPI 4.0, 6.13).
  std::optional<uint64_t> Starts(const MemberHistory& history, const CollectiveNode& node) const {
    const Process& process = trace_.processes[history.process];
    for (const OpenRequest& request : process.open_requests) {
      const Event& event = request.event;
      if (event.sequence != node.sequence || event.member != history.member_index) continue;
      return request.starts;
    }
    // The request was freed; the records of its starts remain.
    for (const Thread& thread : process.threads) {
      if (thread.lost_collectives != 0) return std::nullopt;
    }
    if (process.records_unreadable != 0 || process.table_overflows != 0) return std::nullopt;
    uint64_t starts = 0;
    for (const Event& event : process.lifecycle) {
      const Kind kind = KindOf(event);
      if (event.member != history.member_index || event.detail >> 32 != node.sequence) continue;
      if (kind != Kind::kStart && kind != Kind::kStartall) continue;
      starts = std::max(starts, event.detail & 0xffffffff);
    }
    return starts;
  }

  const Trace& trace_;
  const DiagnoseOptions& options_;
  const std::vector<CommunicatorHistory>& histories_;
  WaitGraph graph_;
  std::unordered_set<uint32_t> creating_;
  std::map<std::tuple<uint32_t, uint32_t, bool>, uint32_t> anybody_;  // world, communicator, group
  Deaths deaths_{trace_};
  MessageSupply messages_{trace_};
};

}  // namespace

std::vector<uint32_t> WaitGraph::Candidates(const WaitDependency& dependency,
                                            Activity activity) const {
  if (dependency.process != kNoIndex) {
    if (processes[dependency.process].activity != activity) return {};
    return {dependency.process};
  }
  if (dependency.any_source == kNoIndex) return {};
  const AnySourceWait& all = any_source[dependency.any_source];
  switch (activity) {
    case Activity::kEnded:
      return all.ended;
    case Activity::kLeft:
      return all.left;
    case Activity::kRunning:
      return all.running;
    default:
      return {};
  }
}

const WaitDependency* WaitGraph::OwnUnmarked(uint32_t process) const {
  const ProcessView& view = processes[process];
  // If one of several events would be enough, another one may be the cause.
  if (view.any) return nullptr;
  const auto it = std::ranges::find_if(view.dependencies, [&](const WaitDependency& dependency) {
    return dependency.process == process && dependency.sends && dependency.unmarked != 0;
  });
  return it == view.dependencies.end() ? nullptr : &*it;
}

WaitGraph BuildWaitGraph(const Trace& trace, const DiagnoseOptions& options,
                         const std::vector<CommunicatorHistory>& histories) {
  return GraphBuilder(trace, options, histories).Build();
}

}  // namespace rollcall
