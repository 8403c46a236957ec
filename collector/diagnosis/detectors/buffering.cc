// SPDX-License-Identifier: Apache-2.0
// A second evaluation of the calls. A standard send may be buffered and return at once, or wait for
// its receive (MPI 4.0, 3.4). A collective may return as soon as the caller's part is done, or wait
// until all members have called it (6.1). A program that relies on buffering is unsafe (3.5), and a
// program that relies on early returns is erroneous (6.14): both hang with larger messages or
// another library. This file replays the recorded calls so that every send waits for its receive
// and every blocking collective for its members. A ring of ranks that then wait for each other is
// reported. In
//   0: Send 1xMPI_INT peer=1 tag=0 @ main:10
//   1: Send 1xMPI_INT peer=0 tag=0 @ main:10
//   0: Recv 1xMPI_INT peer=1 tag=0 @ main:11
//   1: Recv 1xMPI_INT peer=0 tag=0 @ main:11
// both sends returned, but in the replay each rank waits in its send for the receive of the other.
//
// A safe program is never reported. Where the records leave a choice (a wildcard receive, a Waitall
// whose requests are not recorded), either the rank continues, or nothing is reported at all. A
// rank whose records end may still act.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/message_supply.h"
#include "collector/model/messages.h"

namespace rollcall {
namespace {

// A message or a posted receive: whichever comes first waits for the other.
struct Half {
  uint32_t from = kNoIndex;  // processes
  uint32_t to = kNoIndex;
  int32_t tag = 0;
  bool sends = false;
  bool buffered = false;  // MPI_Bsend: always returns
  bool matched = false;
};

class Replay {
 public:
  explicit Replay(const Analysis& analysis) : analysis_(analysis), trace_(analysis.trace) {}

  // The ranks of a ring, each inside a call that only the next rank could complete; increasing.
  // Empty if there is no ring, or if the records do not decide.
  std::vector<uint32_t> Ring() {
    if (!CanJudge()) return {};
    const size_t count = trace_.processes.size();
    ranks_.resize(count);
    entered_.resize(trace_.communicators.size());
    for (uint32_t p = 0; p < count; ++p) ranks_[p].timeline = analysis_.Timeline(p);
    for (uint32_t p = 0; p < count; ++p) work_.insert(p);
    while (!work_.empty() && !undecided_) {
      const uint32_t p = *work_.begin();
      work_.erase(work_.begin());
      while (!undecided_ && Step(p)) {
      }
    }
    if (undecided_) return {};
    return FindRing();
  }

  // The call of a rank of the ring.
  const Event* At(uint32_t p) const { return ranks_[p].timeline[ranks_[p].at]; }
  // Whether the rank is in a send, or waits for one.
  bool Sends(uint32_t p) const {
    return std::ranges::any_of(ranks_[p].current,
                               [this](size_t i) { return !Done(i) && halves_[i].sends; });
  }

 private:
  struct Rank {
    std::vector<const Event*> timeline;
    size_t at = 0;
    bool posted = false;                               // the halves of the call at `at` are posted
    std::vector<size_t> current;                       // those halves
    std::map<uint64_t, std::vector<size_t>> requests;  // outstanding, by uid
    std::map<uint32_t, uint64_t> entered;              // collectives by communicator
  };

  bool CanJudge() const {
    for (const World& world : trace_.worlds) {
      for (const uint32_t p : world.processes) {
        if (p == kNoIndex) return false;
      }
    }
    for (const Process& process : trace_.processes) {
      if (process.device || process.thread_level < 0 || process.thread_level > 2 ||
          process.records_unreadable != 0 || process.table_overflows != 0 ||
          process.errors_seen != 0 || process.HasLostRecords()) {
        return false;
      }
    }
    return std::ranges::all_of(analysis_.histories, [](const CommunicatorHistory& histories) {
      return histories.ordered &&
             std::ranges::all_of(histories.members, [](const MemberHistory& l) {
               return l.gap_free && (l.last == 0 || l.first == 1);
             });
    });
  }

  uint32_t CommunicatorOf(const Event& event) const {
    return trace_.members[event.member].communicator;
  }

  uint32_t PeerOf(uint32_t p, const Event& event, int32_t peer) const {
    if (event.member == kNoIndex || peer < 0) return kNoIndex;
    const Process& process = trace_.processes[p];
    const std::vector<int32_t>& peers = messages_.Peers(CommunicatorOf(event), process.rank);
    if (static_cast<size_t>(peer) >= peers.size()) return kNoIndex;
    return ProcessOf(trace_, process.world, peers[static_cast<size_t>(peer)]);
  }

  // Posts one half of a message.
  void Post(uint32_t p, const Event& event, const Message& message) {
    const uint32_t other = PeerOf(p, event, message.peer);
    // A receive from any source takes the message that arrives first, which is not recorded.
    if (other == kNoIndex) {
      undecided_ = true;
      return;
    }
    const Operation operation = analysis_.Op(event);
    Half half;
    half.from = message.sends ? p : other;
    half.to = message.sends ? other : p;
    half.tag = message.tag;
    half.sends = message.sends;
    half.buffered =
        message.sends && (operation == Operation::kBsend || operation == Operation::kIbsend);
    // Halves match in posting order by source, destination and communicator, where the tags match
    // (MPI 4.0, 3.5).
    std::vector<size_t>& queue = queues_[{CommunicatorOf(event), half.from, half.to}];
    const auto partner = std::ranges::find_if(queue, [&](size_t i) {
      const Half& there = halves_[i];
      if (there.sends == half.sends) return false;
      return there.tag == half.tag || there.tag == ring::kAnyTag || half.tag == ring::kAnyTag;
    });
    half.matched = partner != queue.end();
    const size_t index = halves_.size();
    halves_.push_back(half);
    ranks_[p].current.push_back(index);
    if (half.matched) {
      halves_[*partner].matched = true;
      queue.erase(partner);
      work_.insert(other);
    } else {
      queue.push_back(index);
    }
  }

  bool Done(size_t half) const { return halves_[half].matched || halves_[half].buffered; }

  // True if the rank has made its next call and may make another one.
  bool Step(uint32_t p) {
    Rank& rank = ranks_[p];
    if (rank.at == rank.timeline.size()) return false;
    const Event& event = *rank.timeline[rank.at];
    if (!rank.posted) {
      rank.posted = true;
      rank.current.clear();
      Begin(p, event);
    }
    if (undecided_ || !MayReturn(p, event)) return false;
    ++rank.at;
    rank.posted = false;
    return true;
  }

  void Begin(uint32_t p, const Event& event) {
    Rank& rank = ranks_[p];
    const Kind kind = analysis_.KindOf(event);
    if (event.thread != 0) undecided_ = true;
    switch (kind) {
      case Kind::kSend:
      case Kind::kIsend:
      case Kind::kRecv:
      case Kind::kIrecv:
      case Kind::kSendrecv:
        for (const Message& message : MessagesOf(analysis_.Args(event))) Post(p, event, message);
        break;
      // The messages of these calls are not tracked.
      case Kind::kPersistentP2p:
      case Kind::kProbe:
      case Kind::kMrecv:
      case Kind::kImrecv:
      case Kind::kCancel:
      case Kind::kStart:
      case Kind::kStartall:
      case Kind::kPready:
        undecided_ = true;
        break;
      default:
        break;
    }
    if (kind == Kind::kIsend || kind == Kind::kIrecv) {
      if (!rank.current.empty() && event.request != 0) rank.requests[event.request] = rank.current;
      rank.current.clear();
    }
    if (event.sequence != 0 && event.member != kNoIndex) Enter(&rank, event);
    if (kind == Kind::kWait) {
      Await(&rank, event.request);
    } else if (kind == Kind::kWaitall) {
      // The call waits for all outstanding requests, or for some of them that are not recorded.
      if (event.detail == rank.requests.size()) {
        while (!rank.requests.empty()) Await(&rank, rank.requests.begin()->first);
      } else {
        rank.requests.clear();
      }
    }
  }

  // Sequence numbers have no gaps, so the last member to enter a number completes it.
  void Enter(Rank* rank, const Event& event) {
    const uint32_t comm = CommunicatorOf(event);
    const std::vector<MemberHistory>& histories = analysis_.histories[comm].members;
    rank->entered[comm] = event.sequence;
    std::vector<uint32_t>& entered = entered_[comm];
    if (entered.size() <= event.sequence) entered.resize(event.sequence + 1);
    if (++entered[event.sequence] < histories.size()) return;
    for (const MemberHistory& history : histories) work_.insert(history.process);
  }

  static void Await(Rank* rank, uint64_t request) {
    const auto found = rank->requests.find(request);
    if (found == rank->requests.end()) return;
    rank->current.insert(rank->current.end(), found->second.begin(), found->second.end());
    rank->requests.erase(found);
  }

  bool MayReturn(uint32_t p, const Event& event) const {
    return !WaitsForMembers(event) &&
           std::ranges::all_of(ranks_[p].current, [this](size_t half) { return Done(half); });
  }

  // Whether the rank waits for members in a blocking collective that not all members have entered.
  // A neighborhood collective may wait for neighbors only, and does not count.
  bool WaitsForMembers(const Event& event) const {
    const Kind kind = analysis_.KindOf(event);
    if (event.sequence == 0 || (kind != Kind::kCollective && kind != Kind::kCreateComm)) {
      return false;
    }
    if (IsOnTopology(FindOperation(static_cast<uint16_t>(analysis_.Op(event))).rule)) return false;
    const uint32_t comm = CommunicatorOf(event);
    return entered_[comm][event.sequence] < analysis_.histories[comm].members.size();
  }

  // The edges of a vertex. A vertex is a rank, or, beyond the number of ranks, an index into
  // `nodes`: a collective that ranks are in. Edges of a rank lead to everything that the rank waits
  // for; edges of a collective lead to all members that it lacks.
  std::vector<uint32_t> Next(uint32_t vertex,
                             std::vector<std::pair<uint32_t, uint64_t>>* nodes) const {
    std::vector<uint32_t> next;
    const size_t count = ranks_.size();
    if (vertex < count) {
      const Rank& rank = ranks_[vertex];
      if (rank.at == rank.timeline.size()) return {};
      for (const size_t i : rank.current) {
        if (!Done(i)) next.push_back(halves_[i].sends ? halves_[i].to : halves_[i].from);
      }
      const Event& event = *rank.timeline[rank.at];
      if (!WaitsForMembers(event)) return next;
      const std::pair node(CommunicatorOf(event), event.sequence);
      const auto at = std::ranges::find(*nodes, node) - nodes->begin();
      if (static_cast<size_t>(at) == nodes->size()) nodes->push_back(node);
      next.push_back(static_cast<uint32_t>(count) + static_cast<uint32_t>(at));
      return next;
    }
    const auto [comm, sequence] = (*nodes)[vertex - count];
    for (const MemberHistory& history : analysis_.histories[comm].members) {
      const auto entered = ranks_[history.process].entered.find(comm);
      if (entered == ranks_[history.process].entered.end() || entered->second < sequence) {
        next.push_back(history.process);
      }
    }
    return next;
  }

  // Depth-first search: vertices that the search has left lead to no undiscovered ring.
  std::vector<uint32_t> FindRing() const {
    struct Frame {
      uint32_t vertex;
      std::vector<uint32_t> next;
      size_t at = 0;
    };
    std::vector<std::pair<uint32_t, uint64_t>> nodes;
    std::set<uint32_t> seen;
    std::set<uint32_t> on_way;
    for (uint32_t start = 0; start < ranks_.size(); ++start) {
      std::vector<Frame> way;
      const auto enter = [&](uint32_t vertex) {
        if (!seen.insert(vertex).second) return;
        on_way.insert(vertex);
        way.push_back({vertex, Next(vertex, &nodes)});
      };
      enter(start);
      while (!way.empty()) {
        Frame& frame = way.back();
        if (frame.at == frame.next.size()) {
          on_way.erase(frame.vertex);
          way.pop_back();
          continue;
        }
        const uint32_t to = frame.next[frame.at++];
        if (!on_way.contains(to)) {
          enter(to);
          continue;
        }
        std::vector<uint32_t> ring;
        for (auto it = way.rbegin(); it != way.rend(); ++it) {
          if (it->vertex < ranks_.size()) ring.push_back(it->vertex);
          if (it->vertex == to) break;
        }
        if (ring.size() < 2 || !IsUnsafe(ring)) continue;
        std::ranges::sort(ring);
        return ring;
      }
    }
    return {};
  }

  // Whether the ring completed only by a buffer, or by a collective that returned early.
  bool IsUnsafe(const std::vector<uint32_t>& ring) const {
    return std::ranges::any_of(
        ring, [this](uint32_t p) { return Sends(p) || MayReturnEarly(analysis_, *At(p)); });
  }

  const Analysis& analysis_;
  const Trace& trace_;
  MessageSupply messages_{trace_};
  std::vector<Rank> ranks_;
  std::vector<Half> halves_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<size_t>> queues_;
  // By communicator and number: how many members have entered.
  std::vector<std::vector<uint32_t>> entered_;
  std::set<uint32_t> work_;
  bool undecided_ = false;
};

}  // namespace

bool MayReturnEarly(const Analysis& analysis, const Event& call) {
  return call.sequence != 0 &&
         FindOperation(static_cast<uint16_t>(analysis.Op(call))).rule != Rule::kBarrier;
}

void FindBufferedRings(const Analysis& analysis, std::vector<Incident>* incidents) {
  Replay replay(analysis);
  Incident incident;
  incident.what = Incident::What::kBuffered;
  incident.deviating = replay.Ring();
  if (incident.deviating.empty()) return;
  for (const uint32_t p : incident.deviating) {
    incident.calls.push_back(replay.At(p));
    incident.Set<WaitDetails>().buffered |= replay.Sends(p);
  }
  const auto early = std::ranges::find_if(
      incident.calls, [&](const Event* call) { return MayReturnEarly(analysis, *call); });
  incident.deviating_event = early == incident.calls.end() ? incident.calls.front() : *early;
  incident.communicator = analysis.CommunicatorOf(*incident.deviating_event);
  incidents->push_back(std::move(incident));
}

}  // namespace rollcall
