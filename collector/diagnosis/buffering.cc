// The sends judged a second time. A standard send may be buffered, and then returns at once; or it
// may wait for its receive (MPI 4.0, 3.4). A program that needs the first is unsafe (3.5) and hangs
// one day: with larger messages, with another library. What was recorded is run again here, every
// send waiting for its receive, and a ring of ranks that then wait for each other is reported.
//
// It never says so of a program that is safe: wherever the records leave a choice (a wildcard
// receive, a Waitall whose requests are not on record, a collective that may return early) either
// the rank goes on, or nothing is judged at all. A rank whose records end may still act.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "collector/diagnosis/incident.h"

namespace rollcall {
namespace {

// One message, or one receive that is posted: whichever comes first waits for the other.
struct Half {
  uint32_t from = kNoIndex;  // processes
  uint32_t to = kNoIndex;
  int32_t tag = 0;
  bool sends = false;
  bool buffered = false;  // MPI_Bsend: returns whatever happens
  bool matched = false;
};

class Replay {
 public:
  explicit Replay(const Analysis& analysis) : analysis_(analysis), trace_(analysis.trace) {}

  // The ranks of a ring, each inside a call that only the next one could answer; empty if there is
  // none, or the records do not decide. Rising.
  std::vector<uint32_t> Ring() {
    if (!CanJudge()) return {};
    const size_t count = trace_.processes.size();
    ranks_.resize(count);
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

  // Where a rank of the ring stands.
  const Event* At(uint32_t p) const { return ranks_[p].timeline[ranks_[p].at]; }

 private:
  struct Rank {
    std::vector<const Event*> timeline;
    size_t at = 0;
    bool posted = false;                   // the halves of the call at `at` stand
    std::vector<size_t> current;           // those halves
    std::map<uint64_t, size_t> requests;   // outstanding, by uid
    std::map<uint32_t, uint64_t> entered;  // collectives by communicator
  };

  bool CanJudge() const {
    for (const World& world : trace_.worlds) {
      for (const uint32_t p : world.processes) {
        if (p == kNoIndex) return false;
      }
    }
    for (const Process& process : trace_.processes) {
      if (process.device || process.thread_level < 0 || process.thread_level > 2 ||
          process.records_unreadable != 0 || process.table_overflows != 0) {
        return false;
      }
      for (const Thread& thread : process.threads) {
        if (thread.lost_collectives != 0 || thread.lost_p2p != 0) return false;
      }
    }
    return std::all_of(analysis_.lanes.begin(), analysis_.lanes.end(), [](const Lanes& lanes) {
      return lanes.ordered &&
             std::all_of(lanes.lanes.begin(), lanes.lanes.end(),
                         [](const Lane& l) { return l.gap_free && (l.last == 0 || l.first == 1); });
    });
  }

  uint32_t PeerOf(uint32_t p, const Event& event, int32_t peer) const {
    if (event.membership == kNoIndex || peer < 0) return kNoIndex;
    const Communicator& comm =
        trace_.communicators[trace_.memberships[event.membership].communicator];
    const int32_t rank = trace_.processes[p].rank;
    const bool local =
        comm.remote_members.empty() ||
        std::find(comm.members.begin(), comm.members.end(), rank) == comm.members.end();
    const std::vector<int32_t>& peers = local ? comm.members : comm.remote_members;
    const World& world = trace_.worlds[trace_.processes[p].world];
    if (static_cast<size_t>(peer) >= peers.size()) return kNoIndex;
    const auto to = static_cast<size_t>(peers[static_cast<size_t>(peer)]);
    return to < world.processes.size() ? world.processes[to] : kNoIndex;
  }

  // Posts one side; returns its half, or nothing for MPI_PROC_NULL.
  std::optional<size_t> Post(uint32_t p, const Event& event, int32_t peer, int32_t tag,
                             bool sends) {
    if (peer == ring::kProcNullPeer || peer == ring::kNoPeer) return std::nullopt;
    const uint32_t other = PeerOf(p, event, peer);
    // A receive from any rank takes what comes first, and what came first is not on record.
    if (other == kNoIndex) {
      undecided_ = true;
      return std::nullopt;
    }
    const uint32_t comm = trace_.memberships[event.membership].communicator;
    const Operation operation = analysis_.Op(event);
    Half half;
    half.from = sends ? p : other;
    half.to = sends ? other : p;
    half.tag = tag;
    half.sends = sends;
    half.buffered = sends && (operation == Operation::kBsend || operation == Operation::kIbsend);
    // In posting order by source, destination and communicator, where the tags agree (3.5).
    std::vector<size_t>& queue = queues_[{comm, half.from, half.to}];
    const auto partner = std::find_if(queue.begin(), queue.end(), [&](size_t i) {
      const Half& there = halves_[i];
      if (there.sends == sends) return false;
      return there.tag == tag || there.tag == ring::kAnyTag || tag == ring::kAnyTag;
    });
    half.matched = partner != queue.end();
    const size_t index = halves_.size();
    halves_.push_back(half);
    if (half.matched) {
      halves_[*partner].matched = true;
      queue.erase(partner);
      work_.insert(other);
    } else {
      queue.push_back(index);
    }
    return index;
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
    const Arguments& a = analysis_.Args(event);
    const auto post = [&](int32_t peer, int32_t tag, bool sends) {
      if (const std::optional<size_t> half = Post(p, event, peer, tag, sends)) {
        rank.current.push_back(*half);
      }
    };
    const Kind kind = analysis_.KindOf(event);
    if (event.thread != 0) undecided_ = true;
    switch (kind) {
      case Kind::kSend:
      case Kind::kIsend:
        post(a.root_or_peer, a.tag, true);
        break;
      case Kind::kRecv:
      case Kind::kIrecv:
        post(a.root_or_peer, a.tag, false);
        break;
      case Kind::kSendrecv:
        post(a.root_or_peer, a.tag, true);
        post(a.peer2, a.tag2, false);
        break;
      // Which messages these are about is not followed.
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
      if (!rank.current.empty() && event.request != 0) {
        rank.requests[event.request] = rank.current.front();
      }
      rank.current.clear();
    }
    if (event.sequence != 0 && event.membership != kNoIndex) {
      const uint32_t comm = trace_.memberships[event.membership].communicator;
      rank.entered[comm] = event.sequence;
      for (const Lane& lane : analysis_.lanes[comm].lanes) work_.insert(lane.process);
    }
    if (kind == Kind::kWait) {
      Await(&rank, event.request);
    } else if (kind == Kind::kWaitall) {
      // All that it has outstanding, or some of them that nobody wrote down.
      if (event.detail == rank.requests.size()) {
        while (!rank.requests.empty()) Await(&rank, rank.requests.begin()->first);
      } else {
        rank.requests.clear();
      }
    }
  }

  static void Await(Rank* rank, uint64_t request) {
    const auto found = rank->requests.find(request);
    if (found == rank->requests.end()) return;
    rank->current.push_back(found->second);
    rank->requests.erase(found);
  }

  bool MayReturn(uint32_t p, const Event& event) const {
    if (!std::all_of(ranks_[p].current.begin(), ranks_[p].current.end(),
                     [this](size_t half) { return Done(half); })) {
      return false;
    }
    return MissingFrom(event).empty();
  }

  // Those without whom the standard lets nobody out of a blocking collective. Rooted ones let some
  // out at once: they are not waited for.
  std::vector<uint32_t> MissingFrom(const Event& event) const {
    std::vector<uint32_t> missing;
    if (event.sequence == 0 || analysis_.KindOf(event) != Kind::kCollective) return missing;
    const Rule rule = FindOperation(static_cast<uint16_t>(analysis_.Op(event))).rule;
    if (rule != Rule::kBarrier) return missing;
    const uint32_t comm = trace_.memberships[event.membership].communicator;
    for (const Lane& lane : analysis_.lanes[comm].lanes) {
      const auto entered = ranks_[lane.process].entered.find(comm);
      if (entered == ranks_[lane.process].entered.end() || entered->second < event.sequence) {
        missing.push_back(lane.process);
      }
    }
    return missing;
  }

  // Whom a rank that stands waits for: all of them.
  std::vector<uint32_t> Needs(uint32_t p) const {
    const Rank& rank = ranks_[p];
    if (rank.at == rank.timeline.size()) return {};
    std::vector<uint32_t> needs = MissingFrom(*rank.timeline[rank.at]);
    for (const size_t i : rank.current) {
      if (!Done(i)) needs.push_back(halves_[i].sends ? halves_[i].to : halves_[i].from);
    }
    return needs;
  }

  std::vector<uint32_t> FindRing() const {
    const uint32_t count = static_cast<uint32_t>(ranks_.size());
    for (uint32_t start = 0; start < count; ++start) {
      std::vector<uint32_t> way;
      std::vector<bool> seen(count, false);
      uint32_t p = start;
      while (!seen[p]) {
        seen[p] = true;
        way.push_back(p);
        const std::vector<uint32_t> needs = Needs(p);
        if (needs.empty()) break;
        p = needs.front();
      }
      const auto first = std::find(way.begin(), way.end(), p);
      if (Needs(p).empty() || first == way.end()) continue;
      std::vector<uint32_t> ring(first, way.end());
      if (ring.size() < 2 || !SomebodySends(ring)) continue;
      std::sort(ring.begin(), ring.end());
      return ring;
    }
    return {};
  }

  bool SomebodySends(const std::vector<uint32_t>& ring) const {
    return std::any_of(ring.begin(), ring.end(), [this](uint32_t p) {
      return std::any_of(ranks_[p].current.begin(), ranks_[p].current.end(),
                         [this](size_t i) { return !Done(i) && halves_[i].sends; });
    });
  }

  const Analysis& analysis_;
  const Trace& trace_;
  std::vector<Rank> ranks_;
  std::vector<Half> halves_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<size_t>> queues_;
  std::set<uint32_t> work_;
  bool undecided_ = false;
};

}  // namespace

void FindBufferedRings(const Analysis& analysis, std::vector<Incident>* incidents) {
  Replay replay(analysis);
  Incident incident;
  incident.what = Incident::What::kBuffered;
  incident.mutual = true;
  incident.deviating = replay.Ring();
  if (incident.deviating.empty()) return;
  for (const uint32_t p : incident.deviating) incident.calls.push_back(replay.At(p));
  incident.deviating_event = incident.calls.front();
  const uint32_t membership = incident.deviating_event->membership;
  if (membership != kNoIndex) {
    incident.communicator = analysis.trace.memberships[membership].communicator;
  }
  incidents->push_back(std::move(incident));
}

}  // namespace rollcall
