// SPDX-License-Identifier: Apache-2.0
// Finds ranks that left a loop of messages, skipped a round, or made a round too many: they wait
// elsewhere, or have finalized, and their peers wait for one more message. In
//   repeat 3
//     0: Send 1xMPI_INT peer=1 tag=0 @ main:10
//     1: Recv 1xMPI_INT peer=0 tag=0 @ main:12
//   end
//   0: waits in Barrier @ main:20
//   1: waits in Recv 1xMPI_INT peer=0 tag=0 @ main:12
// rank 0 left the loop after three rounds, and rank 1 waits for the fourth message.
//
// A rank that waits for a message is not at fault because it waits. The waits are followed to ranks
// that wait for no message. Either these ranks made too few rounds, or the others made too many:
// the side with which more ranks agree is right. Two ranks agree if each has received all messages
// of the other.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/near_miss.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/model/message_counts.h"

namespace rollcall {
namespace {

using What = Incident::What;

// Disjoint sets of processes, which can be joined.
class Groups {
 public:
  explicit Groups(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }
  uint32_t Of(uint32_t process) {
    while (parent_[process] != process) process = parent_[process] = parent_[parent_[process]];
    return process;
  }
  void Join(uint32_t a, uint32_t b) { parent_[Of(a)] = Of(b); }

 private:
  std::vector<uint32_t> parent_;
};

// A process that waits for a message from or to another process, which itself waits for no message.
struct Unanswered {
  uint32_t waiter = kNoIndex;
  uint32_t awaited = kNoIndex;
  const WaitDependency* dependency = nullptr;
  Message message;
};

// Ranks that wait for messages of each other, and of ranks that are elsewhere.
struct Circle {
  std::vector<uint32_t> inside;  // increasing
  std::vector<Unanswered> waits;
  bool chained = false;  // some wait for others inside

  bool Holds(uint32_t p) const { return std::ranges::binary_search(inside, p); }
};

class RoundFinder {
 public:
  RoundFinder(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), incidents_(*incidents) {}

  void Find() {
    for (uint32_t p = 0; p < analysis_.graph.processes.size(); ++p) LookAtAnySource(p);
    for (const Circle& circle : FindCircles()) {
      if (!circle.waits.empty() && !HasOtherCause(circle)) Judge(circle);
    }
  }

 private:
  bool WaitsForMessages(uint32_t p) const {
    const std::vector<WaitDependency>& all = analysis_.graph.processes[p].dependencies;
    return analysis_.IsStuck(p) && !analysis_.trace.processes[p].device &&
           std::ranges::any_of(all,
                               [](const auto& dependency) { return dependency.node == kNoIndex; });
  }

  std::vector<Unanswered> WaitsOf(uint32_t p) const {
    std::vector<Unanswered> waits;
    for (const WaitDependency& dependency : analysis_.graph.processes[p].dependencies) {
      if (dependency.process == kNoIndex) continue;
      for (const Message& message : MessagesOf(analysis_.Args(*dependency.event))) {
        if (message.sends != dependency.sends) continue;
        waits.push_back({p, dependency.process, &dependency, message});
      }
    }
    return waits;
  }

  std::vector<Circle> FindCircles() const {
    const auto size = static_cast<uint32_t>(analysis_.graph.processes.size());
    Groups groups(size);
    std::vector<Unanswered> waits;
    std::vector<uint32_t> chained;
    for (uint32_t p = 0; p < size; ++p) {
      if (!WaitsForMessages(p)) continue;
      for (const Unanswered& wait : WaitsOf(p)) {
        groups.Join(p, wait.awaited);
        if (WaitsForMessages(wait.awaited)) {
          chained.push_back(p);
        } else {
          waits.push_back(wait);
        }
      }
    }
    // Ranks that left a loop together may have peers in several groups. These groups are joined.
    std::map<uint32_t, uint32_t> places;  // by node: a process that waits there
    for (const Unanswered& wait : waits) {
      const std::vector<WaitDependency>& stands =
          analysis_.graph.processes[wait.awaited].dependencies;
      const uint32_t node = stands.empty() ? kNoIndex : stands.front().node;
      groups.Join(places.try_emplace(node, wait.awaited).first->second, wait.awaited);
    }
    std::map<uint32_t, Circle> circles;
    for (uint32_t p = 0; p < size; ++p) {
      if (WaitsForMessages(p)) circles[groups.Of(p)].inside.push_back(p);
    }
    for (const Unanswered& wait : waits) circles[groups.Of(wait.waiter)].waits.push_back(wait);
    for (const uint32_t p : chained) circles[groups.Of(p)].chained = true;
    std::vector<Circle> all;
    all.reserve(circles.size());
    for (auto& [group, circle] : circles) all.push_back(std::move(circle));
    return all;
  }

  // Whether the process waits for no message and will send none: it is stuck, or has finalized.
  bool IsElsewhere(uint32_t p) const {
    return (analysis_.IsStuck(p) && !WaitsForMessages(p)) ||
           analysis_.graph.processes[p].activity == Activity::kLeft;
  }

  // Whether another cause explains the waits: a rank that computes or has ended, calls that do not
  // match, a message with another tag, or a call that MPI rejected.
  bool HasOtherCause(const Circle& circle) const {
    if (std::ranges::any_of(circle.inside,
                            [this](uint32_t p) { return HasStray(incidents_, p); })) {
      return true;
    }
    return std::ranges::any_of(circle.waits, [&](const Unanswered& wait) {
      if (!IsElsewhere(wait.awaited) || wait.dependency->unmarked != 0) return true;
      if (analysis_.IsStuck(wait.awaited) && !WaitsForThoseInside(wait.awaited, circle)) {
        return true;
      }
      for (const WaitDependency& dependency :
           analysis_.graph.processes[wait.awaited].dependencies) {
        if (dependency.node == kNoIndex) continue;  // a device's dependency
        const CollectiveNode& node = analysis_.graph.nodes[dependency.node];
        if (analysis_.IsMismatched(node) || Explained(incidents_, node.communicator, node.sequence))
          return true;
      }
      return HasNearMiss(wait) || HasRejected(wait.awaited) || HasRejected(wait.waiter);
    });
  }

  // Whether MPI has rejected a send or a receive, which then took no part in the round.
  bool HasRejected(uint32_t p) const {
    const std::vector<RejectedCall>& all = analysis_.trace.processes[p].rejected;
    return std::ranges::any_of(all, [&](const RejectedCall& call) {
      return !MessagesOf(analysis_.Args(call.event)).empty();
    });
  }

  // FindNearMiss() examines all ranks, so call it only if a message of the awaited rank is left.
  bool HasNearMiss(const Unanswered& wait) const {
    const std::vector<Channel>& channels = analysis_.trace.processes[wait.awaited].channels;
    const bool any = std::ranges::any_of(channels, [&](const Channel& channel) {
      if (channel.member == kNoIndex || channel.sent == 0) return false;
      const uint32_t communicator = analysis_.trace.members[channel.member].communicator;
      const MemberHistory* waiter = analysis_.HistoryOf(communicator, wait.waiter);
      return waiter != nullptr && channel.peer == waiter->member->rank &&
             IsLeftOver(analysis_, communicator, wait.awaited, wait.waiter, channel.tag);
    });
    if (!any) return false;
    const std::optional<NearMiss> miss =
        FindNearMiss(analysis_, wait.waiter, *wait.dependency->event);
    return miss && miss->other == wait.awaited;
  }

  const MemberHistory* HistoryOf(uint32_t p) const { return analysis_.HistoryOf(communicator_, p); }

  // The messages from `a` to `b`, sent and received.
  struct Traffic {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t posted = 0;  // receives that are not complete
    bool unknown = false;

    bool IsEven() const { return unknown || sent == received + posted; }
  };
  Traffic Between(uint32_t a, uint32_t b) const {
    Traffic traffic;
    const MemberHistory* from = HistoryOf(a);
    const MemberHistory* to = HistoryOf(b);
    if (from == nullptr || to == nullptr) return traffic;
    traffic.sent = SumOf(a, from->member_index, to->member->rank).sent;
    const Sum& taken = SumOf(b, to->member_index, from->member->rank);
    traffic.received = taken.received;
    traffic.posted = taken.posted;
    traffic.unknown = SumOf(b, to->member_index, ring::kAnySource).received != 0 ||
                      IsUncounted(a) || IsUncounted(b);
    return traffic;
  }
  bool IsUncounted(uint32_t p) const {
    const Process& process = analysis_.trace.processes[p];
    return process.channels_lost && process.peer_counts_lost;
  }
  // By member and peer.
  struct Sum {
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t posted = 0;
  };
  using Sums = std::map<std::pair<uint32_t, int32_t>, Sum>;
  const Sums& SumsOf(uint32_t p) const {
    const auto [entry, added] = sums_.try_emplace(p);
    Sums& sums = entry->second;
    if (!added) return sums;
    const Process& process = analysis_.trace.processes[p];
    for (const PeerCount& count :
         process.peer_counts_lost ? SumByPeer(process.channels) : process.peer_counts) {
      sums[{count.member, count.peer}] = {count.sent, count.received, 0};
    }
    const auto add = [&](const Event& event) {
      for (const Message& message : MessagesOf(analysis_.Args(event))) {
        if (!message.sends && !message.probes) ++sums[{event.member, message.peer}].posted;
      }
    };
    for (const OpenCall& call : process.open_calls) add(call.event);
    for (const OpenRequest& request : process.open_requests) {
      if (request.state == ring::RequestState::kActive) add(request.event);
    }
    return sums;
  }
  const Sum& SumOf(uint32_t p, uint32_t member, int32_t peer) const {
    static const Sum kNone;
    const Sums& sums = SumsOf(p);
    const auto sum = sums.find({member, peer});
    return sum == sums.end() ? kNone : sum->second;
  }

  // The messages between two processes, in both directions.
  struct Exchange {
    Traffic there;  // from the first process to the second
    Traffic back;

    bool Any() const { return there.sent + back.sent != 0; }
    // Whether a process has received a message of the other.
    bool Reached() const { return there.received + back.received != 0; }
    // Whether each process has received, or has posted receives for, all messages of the other, and
    // no further messages.
    bool IsEven() const { return Any() && there.IsEven() && back.IsEven(); }
    // Whether the first process has sent at least as many messages as the second has received or
    // posted receives for, and the first expects at least as many as the second has sent.
    bool KeepsUp() const {
      return Any() && !there.unknown && !back.unknown &&
             there.sent >= there.received + there.posted &&
             back.received + back.posted >= back.sent;
    }
  };
  Exchange ExchangeOf(uint32_t a, uint32_t b) const { return {Between(a, b), Between(b, a)}; }

  std::vector<uint32_t> PeersOf(uint32_t p) const {
    std::vector<uint32_t> peers;
    if (HistoryOf(p) == nullptr) return peers;
    const Process& process = analysis_.trace.processes[p];
    const std::vector<int32_t>& ranks =
        PeerRanks(analysis_.trace.communicators[communicator_], process.rank);
    for (const auto& [key, sum] : SumsOf(p)) {
      const auto& [member, number] = key;
      if (member != HistoryOf(p)->member_index || number < 0) continue;
      if (static_cast<size_t>(number) >= ranks.size()) continue;
      const uint32_t peer =
          ProcessOf(analysis_.trace, process.world, ranks[static_cast<size_t>(number)]);
      if (peer != kNoIndex) peers.push_back(peer);
    }
    return peers;
  }

  // Whether process `p`, which is inside, would wait for `peer` next: it has received as many
  // messages of `peer` as of the process that it waits for, and no message of `peer` is left.
  bool WouldWaitFor(uint32_t p, uint32_t peer) const {
    const Traffic traffic = Between(peer, p);
    if (traffic.unknown || traffic.sent != traffic.received) return false;
    const std::vector<Unanswered> waits = WaitsOf(p);
    const Process& process = analysis_.trace.processes[p];
    return !waits.empty() && std::ranges::any_of(process.channels, [&](const Channel& one) {
      return one.member == HistoryOf(p)->member_index &&
             one.peer == HistoryOf(peer)->member->rank && one.received != 0 &&
             one.received == Before(waits.front());
    });
  }

  // `from`, and the processes that are connected with `from` by messages.
  std::set<uint32_t> Connected(const std::vector<uint32_t>& from, const Circle& circle,
                               const std::set<uint32_t>& except) const {
    std::set<uint32_t> reached(from.begin(), from.end());
    std::vector<uint32_t> work = from;
    while (!work.empty()) {
      const uint32_t p = work.back();
      work.pop_back();
      for (const uint32_t peer : PeersOf(p)) {
        if (except.contains(peer) || reached.contains(peer)) continue;
        const bool inside = circle.Holds(p);
        const Exchange exchange = ExchangeOf(peer, p);
        const bool joins =
            circle.Holds(peer)
                ? inside && exchange.Reached()
                : IsElsewhere(peer) && (exchange.IsEven() || (inside && exchange.KeepsUp()));
        if (joins && reached.insert(peer).second) work.push_back(peer);
      }
    }
    return reached;
  }

  // The number of messages of this kind before the missing message.
  uint64_t Before(const Unanswered& wait) const {
    uint64_t count = 0;
    for (const Channel& channel : analysis_.trace.processes[wait.waiter].channels) {
      if (channel.member != wait.dependency->event->member) continue;
      if (channel.peer != wait.message.peer || channel.tag != wait.message.tag) continue;
      count += wait.message.sends ? channel.sent : channel.received;
    }
    // A send is counted when it begins.
    return wait.message.sends && count > 0 ? count - 1 : count;
  }

  // The numbers of messages with one tag that the awaited process has exchanged.
  struct Served {
    uint64_t waiter = 0;
    std::vector<uint64_t> others;  // sent to each of its other peers
    std::vector<uint64_t> taken;   // received, from each of its peers

    // Whether a rank that passes on the messages that it receives has not passed on the last one.
    bool KeepsOneBack() const {
      return others.empty() && taken.size() == 1 && waiter != 0 && taken[0] == waiter + 1;
    }

    // Whether a rank has sent fewer messages to the waiter than to each other peer, which all got
    // the same number.
    bool LeavesOneOut() const {
      return others.size() > 1 && waiter < others[0] &&
             std::ranges::all_of(others, [&](uint64_t n) { return n == others[0]; });
    }
  };
  std::map<int32_t, Served> ServedBy(const Unanswered& wait) const {
    std::map<int32_t, Served> by_tag;
    const MemberHistory* own = HistoryOf(wait.awaited);
    const MemberHistory* waiter = HistoryOf(wait.waiter);
    if (own == nullptr || waiter == nullptr || wait.message.sends) return by_tag;
    for (const Channel& channel : analysis_.trace.processes[wait.awaited].channels) {
      if (channel.member != own->member_index) continue;
      if (wait.message.tag != ring::kAnyTag && wait.message.tag != channel.tag) continue;
      Served& served = by_tag[channel.tag];
      if (channel.received != 0) served.taken.push_back(channel.received);
      if (channel.sent == 0) continue;
      if (channel.peer == waiter->member->rank) {
        served.waiter = channel.sent;
      } else {
        served.others.push_back(channel.sent);
      }
    }
    return by_tag;
  }

  // Finds an awaited process that has sent more such messages to each of its other peers, or that
  // has received one more than it has passed on.
  bool JudgeServer(const Circle& circle) {
    for (const Unanswered& wait : circle.waits) {
      communicator_ = analysis_.CommunicatorOf(*wait.dependency->event);
      for (const auto& [tag, served] : ServedBy(wait)) {
        if (!served.LeavesOneOut() && !served.KeepsOneBack()) continue;
        Incident incident = Make(wait);
        RoundDetails& details = incident.Set<RoundDetails>();
        details.message.tag = tag;
        details.before = served.waiter;
        details.relayed = served.KeepsOneBack();
        details.others = details.relayed ? served.taken[0] : served.others[0];
        incident.deviating = {wait.awaited};
        incident.agreeing = {wait.waiter};
        Replace(circle, {wait.awaited}, std::move(incident));
        return true;
      }
    }
    return false;
  }

  // Finds a process that waits for a message of any rank, if a minority of ranks has sent it fewer
  // messages than each of the others.
  void LookAtAnySource(uint32_t p) {
    const std::vector<WaitDependency>& all = analysis_.graph.processes[p].dependencies;
    if (!WaitsForMessages(p) || all.size() != 1 || all.front().any_source == kNoIndex) return;
    const WaitDependency& dependency = all.front();
    communicator_ = analysis_.CommunicatorOf(*dependency.event);
    if (HistoryOf(p) == nullptr) return;
    Unanswered wait{p, kNoIndex, &dependency, {}};
    for (const Message& message : MessagesOf(analysis_.Args(*dependency.event))) {
      if (!message.sends) wait.message = message;
    }
    std::map<uint64_t, std::vector<uint32_t>> senders;  // by the number of their messages
    for (const uint32_t other : analysis_.graph.any_source[dependency.any_source].members) {
      if (other == p) continue;
      if (!IsElsewhere(other) || HistoryOf(other) == nullptr) return;
      uint64_t sent = 0;
      for (const Channel& channel : analysis_.trace.processes[other].channels) {
        if (channel.member != HistoryOf(other)->member_index) continue;
        if (channel.peer != HistoryOf(p)->member->rank) continue;
        if (wait.message.tag == ring::kAnyTag || channel.tag == wait.message.tag)
          sent += channel.sent;
      }
      senders[sent].push_back(other);
    }
    if (senders.size() != 2) return;
    const auto& [before, fewer] = *senders.begin();
    const auto& [others, most] = *senders.rbegin();
    if (fewer.size() >= most.size()) return;
    wait.awaited = fewer.front();
    Incident incident = Make(wait);
    RoundDetails& details = incident.Set<RoundDetails>();
    details.before = before;
    details.others = others;
    incident.deviating = fewer;
    incident.agreeing = {p};
    Replace({{p}, {wait}, false}, {fewer.begin(), fewer.end()}, std::move(incident));
  }

  Incident Make(const Unanswered& wait) const {
    Incident incident;
    incident.what = What::kRounds;
    incident.hangs = true;
    incident.communicator = analysis_.CommunicatorOf(*wait.dependency->event);
    incident.deviating_event = analysis_.CurrentEvent(wait.awaited);
    incident.agreeing_event = analysis_.CurrentEvent(wait.waiter);
    RoundDetails& details = incident.Set<RoundDetails>();
    details.waiter = wait.waiter;
    details.awaited = wait.awaited;
    details.message = wait.message;
    details.before = Before(wait);
    return incident;
  }

  // Whether the numbers of messages with this tag come from rounds: each pair of ranks has
  // exchanged as many messages as these two ranks, or one more.
  bool AreRounds(const Unanswered& wait, const std::set<uint32_t>& ranks) const {
    const uint64_t before = Before(wait);
    return std::ranges::all_of(ranks, [&](uint32_t p) {
      const std::vector<Channel>& all = analysis_.trace.processes[p].channels;
      return HistoryOf(p) == nullptr || std::ranges::all_of(all, [&](const auto& one) {
               return one.member != HistoryOf(p)->member_index || one.tag != wait.message.tag ||
                      one.sent == 0 || one.sent == before || one.sent == before + 1;
             });
    });
  }

  bool IsInALoop(uint32_t p) const {
    const Event* stands = analysis_.CurrentEvent(p);
    const std::vector<Thread>& threads = analysis_.trace.processes[p].threads;
    return stands != nullptr && (HasSentOrReceivedAt(analysis_, p, *stands) ||
                                 std::ranges::any_of(threads, [](const Thread& thread) {
                                   return thread.lost_p2p != 0;
                                 }));
  }

  // Whether a collective in which the process waits lacks a rank inside the circle. If not, the
  // process waits for other ranks, which are the cause.
  bool WaitsForThoseInside(uint32_t p, const Circle& circle) const {
    const std::vector<WaitDependency>& all = analysis_.graph.processes[p].dependencies;
    return std::ranges::any_of(all, [&](const WaitDependency& dependency) {
      if (dependency.node == kNoIndex) return false;
      const std::vector<uint32_t>& missing = analysis_.graph.nodes[dependency.node].missing;
      return std::ranges::any_of(missing, [&](uint32_t one) { return circle.Holds(one); });
    });
  }

  bool AreAtOnePlace(uint32_t a, uint32_t b) const {
    const Event* event = analysis_.CurrentEvent(a);
    const Event* other = analysis_.CurrentEvent(b);
    return event != nullptr && other != nullptr && analysis_.Site(*event) == analysis_.Site(*other);
  }

  bool ShowsExit(uint32_t waiting, uint32_t left) {
    const CallSites& sites = analysis_.sites;
    const auto [entry, added] = exits_.try_emplace({sites.Id(waiting), sites.Id(left)});
    if (added) entry->second = sites.FindExit(waiting, left).has_value();
    return entry->second;
  }

  // Whether the awaited process has answered such a wait before. Before the first message, the two
  // ranks may only have begun in different orders, or have no message for each other. Then several
  // ranks must wait in this call, and some of them for each other, as in an exchange that all ranks
  // make, or the source must show how the awaited process left the code around the call.
  bool IsRepeated(const Circle& circle, const Unanswered& wait) {
    if (Before(wait) != 0 && IsInALoop(wait.waiter)) return true;
    const Event* waiting = analysis_.CurrentEvent(wait.waiter);
    const Event* stands = analysis_.CurrentEvent(wait.awaited);
    if (waiting == nullptr || stands == nullptr) return false;
    if (!circle.chained && !ShowsExit(waiting->call_path, stands->call_path)) return false;
    // The awaited process has made the call with another peer.
    if (HasSentOrReceivedAt(analysis_, wait.awaited, *waiting)) return false;
    const auto here = std::ranges::count_if(
        circle.inside, [&](uint32_t p) { return AreAtOnePlace(p, wait.waiter); });
    if (here < 2) return false;
    const bool left = analysis_.graph.processes[wait.awaited].activity == Activity::kLeft;
    const PathDivergence part = analysis_.sites.ComparePaths(waiting->call_path, stands->call_path);
    return left || (part.known && part.branch && !part.arms);
  }

  void Judge(const Circle& circle) {
    if (JudgeServer(circle)) return;
    const auto best = std::ranges::find_if(
        circle.waits, [&](const Unanswered& wait) { return IsRepeated(circle, wait); });
    if (best == circle.waits.end()) return;
    const Unanswered& first = *best;
    const uint32_t communicator = analysis_.CommunicatorOf(*first.dependency->event);
    communicator_ = communicator;
    std::vector<uint32_t> awaited;
    for (const Unanswered& wait : circle.waits) awaited.push_back(wait.awaited);
    awaited = Without(std::move(awaited), {});
    for (const uint32_t p : circle.inside) {
      for (const uint32_t peer : PeersOf(p)) {
        if (IsElsewhere(peer) && !Contains(awaited, peer) && WouldWaitFor(p, peer)) {
          awaited.push_back(peer);
        }
      }
    }
    awaited = Without(std::move(awaited), {});
    std::set<uint32_t> against;
    std::vector<uint32_t> stayed;
    for (const Unanswered& wait : circle.waits) stayed.push_back(wait.waiter);
    for (const uint32_t p : circle.inside) {
      if (AreAtOnePlace(p, first.waiter)) stayed.push_back(p);
    }
    for (const uint32_t p : awaited) {
      for (const uint32_t peer : PeersOf(p)) {
        if (!IsElsewhere(peer) || Contains(awaited, peer)) continue;
        const Exchange exchange = ExchangeOf(peer, p);
        if (exchange.KeepsUp() && !exchange.IsEven()) against.insert(peer);
      }
    }
    const std::set<uint32_t> fewer = Connected(awaited, circle, against);
    stayed.insert(stayed.end(), against.begin(), against.end());
    const std::set<uint32_t> more = Connected(stayed, circle, fewer);
    const std::vector<uint32_t> others(more.begin(), more.end());
    std::set<uint32_t> reached(circle.inside.begin(), circle.inside.end());
    reached.insert(fewer.begin(), fewer.end());
    reached.insert(more.begin(), more.end());
    Incident incident = Make(first);
    RoundDetails& details = incident.Set<RoundDetails>();
    details.more = fewer.size() > others.size();
    incident.tie = fewer.size() == others.size();
    // Before the first round, nothing shows that the ranks inside made a round too many.
    const bool again = details.before != 0 && IsInALoop(first.waiter);
    if (!again && (details.more || incident.tie)) return;
    incident.deviating.assign(fewer.begin(), fewer.end());
    incident.agreeing = others;
    incident.deviating_event = analysis_.CurrentEvent(first.awaited);
    incident.agreeing_event = analysis_.CurrentEvent(first.waiter);
    const bool pair = awaited.size() == 1 && circle.inside.size() == 1;
    if (pair && !AreRounds(first, reached)) {
      incident.tie = true;
      details.more = false;
      incident.deviating = awaited;
      incident.agreeing = circle.inside;
    } else if (details.more) {
      std::swap(incident.deviating, incident.agreeing);
      std::swap(incident.deviating_event, incident.agreeing_event);
    }
    Replace(circle, reached, std::move(incident));
  }

  // Adds ranks that exchange no messages, but left together with ranks that do.
  void AddThoseWhoLeft(const Incident& other, Incident* incident) const {
    const bool more = incident->Of<RoundDetails>().more;
    std::vector<uint32_t>& left = more ? incident->agreeing : incident->deviating;
    const bool together = other.what == What::kLeft && std::ranges::any_of(left, [&](uint32_t p) {
                            return Contains(other.deviating, p);
                          });
    if (!together) return;
    for (const uint32_t p : other.deviating) {
      if (IsElsewhere(p) && !Contains(left, p) && !Contains(incident->agreeing, p))
        left.push_back(p);
    }
  }

  // Replaces the incidents about waits of these ranks by this one.
  void Replace(const Circle& circle, const std::set<uint32_t>& reached, Incident incident) {
    if (incident.deviating_event == nullptr || incident.agreeing_event == nullptr) return;
    const auto within = [&](const std::vector<uint32_t>& side) {
      return std::ranges::all_of(
          side, [&](uint32_t p) { return reached.contains(p) || circle.Holds(p); });
    };
    const bool known = std::ranges::any_of(incidents_, [&](const Incident& other) {
      return other.hangs && !other.tie && other.what != What::kMessage &&
             (incident.tie ? within(other.deviating)
                           : other.deviating == Without(incident.deviating, {}));
    });
    std::erase_if(incidents_, [&](const Incident& other) {
      const bool waits = other.what == What::kMessage ||
                         (!known && (other.what == What::kLeft || other.what == What::kCycle));
      if (!waits || !other.hangs || (!within(other.deviating) && !within(other.agreeing))) {
        return false;
      }
      AddThoseWhoLeft(other, &incident);
      return true;
    });
    if (!known) incidents_.push_back(std::move(incident));
  }

  const Analysis& analysis_;
  std::vector<Incident>& incidents_;
  uint32_t communicator_ = kNoIndex;                     // whose messages are counted
  mutable std::map<uint32_t, Sums> sums_;                // by process
  std::map<std::pair<uint32_t, uint32_t>, bool> exits_;  // by CallSites::Id()
};

}  // namespace

void FindUnevenRounds(const Analysis& analysis, std::vector<Incident>* incidents) {
  RoundFinder(analysis, incidents).Find();
}

}  // namespace rollcall
