// SPDX-License-Identifier: Apache-2.0
// Finds sends and receives that were meant for each other, but name different tags, peers or
// communicators: a rank waits for a message that was not sent, and a message that differs from it
// in one respect was not received. The wrong end is the one that differs from its own earlier calls
// at the same call site, or from the calls of other ranks there. In
//   1-3: Send 1xMPI_INT peer=0 tag=7 @ main:10
//   4: Send 1xMPI_INT peer=0 tag=8 @ main:10
//   0: waits in Recv 1xMPI_INT peer=4 tag=7 @ main:20
// rank 4 is wrong: the other ranks send tag 7 at line 10.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/near_miss.h"
#include "collector/model/message_counts.h"
#include "collector/model/messages.h"

namespace rollcall {
namespace {

// One call, or one initialization of a persistent request, that sends or receives.
struct Use {
  uint32_t process = kNoIndex;
  const Event* event = nullptr;
  uint32_t communicator = kNoIndex;
  int32_t rank = 0;  // of the process, in the communicator
  int32_t peer = 0;
  int32_t tag = 0;

  bool IsLike(const Use& other) const {
    return communicator == other.communicator && peer == other.peer && tag == other.tag;
  }
};

// A message that a process waits for and that was not sent.
struct Awaited {
  Use receive;
  uint32_t sender = kNoIndex;
};

using Reason = StrayDetails::Reason;

struct Stray {
  StrayDetails details;
  const Event* wrong = nullptr;  // the call of the end that is wrong
  bool sender_is_wrong = false;

  uint32_t culprit() const {
    return sender_is_wrong ? details.send.process : details.receive.process;
  }
};

class StrayFinder {
 public:
  explicit StrayFinder(const Analysis& analysis) : analysis_(analysis), trace_(analysis.trace) {}

  std::vector<Incident> Find() {
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      if (analysis_.IsStuck(p)) AddAwaited(p);
    }
    if (all_.empty()) return {};
    CollectUses();
    std::vector<Stray> by_peers;
    std::vector<Stray> undecided;
    for (const Awaited& awaited : all_) {
      std::optional<Stray> stray = ByOwnCalls(awaited);
      if (!stray) stray = ByTagsOfOthers(awaited);
      if (!stray) stray = ByPartner(awaited);
      if (stray) {
        Add(*stray);
      } else if ((stray = ByPeersOfOthers(awaited))) {
        by_peers.push_back(*stray);
      } else if ((stray = Undecided(awaited))) {
        undecided.push_back(*stray);
      }
    }
    if (!incidents_.empty()) return std::move(incidents_);
    // If the peers of several ranks differ from those of other ranks, the other ranks are no
    // evidence.
    if (std::ranges::all_of(by_peers, [&](const Stray& stray) {
          return stray.culprit() == by_peers.front().culprit();
        })) {
      for (const Stray& stray : by_peers) Add(stray);
    }
    if (by_peers.empty()) AddUndecided(undecided);
    return std::move(incidents_);
  }

 private:
  using Site = std::pair<uint32_t, bool>;  // CallSites::Id(), and whether it sends
  // The calls of one process at a site.
  struct Calls {
    std::vector<Use> all;
    std::vector<Use> kinds;  // one of each kind; see IsLike()
  };
  static constexpr size_t kMaxKinds = 64;

  void AddAwaited(uint32_t p) {
    for (const WaitDependency& dependency : analysis_.graph.processes[p].dependencies) {
      if (dependency.sends || dependency.process == kNoIndex || dependency.process == p) continue;
      if (dependency.uncounted || dependency.unmarked != 0) continue;
      const bool left = analysis_.graph.processes[dependency.process].activity == Activity::kLeft;
      if (!left && !analysis_.IsStuck(dependency.process)) continue;
      for (const Message& message : MessagesOf(analysis_.Args(*dependency.event))) {
        if (message.sends || message.partitioned) continue;
        all_.push_back({UseOf(p, MadeBy(p, *dependency.event), message), dependency.process});
      }
    }
  }

  // The call that names the message: for a persistent request its initialization, unless the record
  // of that is lost.
  const Event& MadeBy(uint32_t p, const Event& event) const {
    if (analysis_.KindOf(event) != Kind::kPersistentP2p) return event;
    for (const Event& made : trace_.processes[p].p2p) {
      if (made.request == event.request && analysis_.KindOf(made) == Kind::kPersistentP2p) {
        return made;
      }
    }
    return event;
  }

  Use UseOf(uint32_t p, const Event& event, const Message& message) const {
    const Member& member = trace_.members[event.member];
    return {p, &event, member.communicator, member.rank, message.peer, message.tag};
  }

  void CollectUses() {
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      const Process& process = trace_.processes[p];
      if (process.device) continue;
      for (const Event& event : process.p2p) AddUse(p, event);
      for (const OpenCall& call : process.open_calls) {
        if (process.p2p.empty() || call.event.start_ns > process.p2p.back().start_ns) {
          AddUse(p, call.event);
        }
      }
    }
  }

  void AddUse(uint32_t p, const Event& event) {
    const uint32_t site = analysis_.sites.Id(event.call_path);
    if (event.member == kNoIndex || site == 0 || IsPoll(analysis_.KindOf(event))) return;
    for (const Message& message : MessagesOf(analysis_.Args(event))) {
      if (message.matched || message.peer == ring::kAnySource) continue;
      Calls& calls = sites_[{site, message.sends}][p];
      calls.all.push_back(UseOf(p, event, message));
      const auto is_like = [&](const Use& use) { return use.IsLike(calls.all.back()); };
      if (calls.kinds.size() < kMaxKinds && std::ranges::none_of(calls.kinds, is_like)) {
        calls.kinds.push_back(calls.all.back());
      }
      sites_of_[p].insert({site, message.sends});
    }
  }

  uint32_t PeerOf(const Use& use) const {
    const Process& process = trace_.processes[use.process];
    const std::vector<int32_t>& peers =
        PeerRanks(trace_.communicators[use.communicator], process.rank);
    if (use.peer < 0 || static_cast<size_t>(use.peer) >= peers.size()) return kNoIndex;
    return ProcessOf(trace_, process.world, peers[static_cast<size_t>(use.peer)]);
  }

  bool IsLeft(const Use& send) const {
    if (send.process == kNoIndex) return false;
    const uint32_t to = PeerOf(send);
    return to != kNoIndex && IsLeftOver(analysis_, send.communicator, send.process, to, send.tag);
  }

  // --- Decided by the calls that the process made before.

  // The calls of a process at one site repeat with a period. In a loop over neighbors, the period
  // is longer than one call. Returns the first call that breaks the repetition, and the call that
  // would have continued it.
  std::optional<std::pair<Use, Use>> Deviation(uint32_t p, const Site& site) const {
    constexpr size_t kMaxPeriod = 64;
    const std::vector<Use>& own = sites_.at(site).at(p).all;
    size_t best = 0;
    size_t period = 0;
    for (size_t k = 1; k <= std::min(own.size() / 2, kMaxPeriod); ++k) {
      size_t end = k;
      while (end < own.size() && own[end].IsLike(own[end - k])) ++end;
      if (end > best) std::tie(best, period) = std::pair(end, k);
    }
    if (period == 0 || best == own.size() || best < 2 * period) return std::nullopt;
    return std::pair(own[best], own[best - period]);
  }

  std::optional<Stray> ByOwnCalls(const Awaited& awaited) {
    const Use& receive = awaited.receive;
    for (const bool sends : {true, false}) {
      const uint32_t p = sends ? awaited.sender : receive.process;
      for (const Site& site : sites_of_[p]) {
        if (site.second != sends) continue;
        const auto deviation = Deviation(p, site);
        if (!deviation) continue;
        const auto& [actual, usual] = *deviation;
        const Use& missing = sends ? usual : actual;  // the awaited message
        const Use& left = sends ? actual : usual;     // the message that was not received
        if (missing.communicator != receive.communicator || missing.tag != receive.tag) continue;
        if (PeerOf(missing) != (sends ? receive.process : awaited.sender)) continue;
        const Use message = sends ? left : Reversed(left);
        if (!IsLeft(message)) continue;
        return Make(awaited, message, sends, *actual.event, Reason::kOwnCalls);
      }
    }
    return std::nullopt;
  }

  // The send that a receive would match.
  Use Reversed(const Use& receive) const {
    Use send = receive;
    send.process = PeerOf(receive);
    std::swap(send.rank, send.peer);
    send.event = nullptr;
    return send;
  }

  // --- Decided by the two halves of an exchange with one partner.

  // The last call of a process at a site that sends and receives.
  struct Exchange {
    const Use* send = nullptr;
    const Use* receive = nullptr;

    bool IsWith(const Use& of) const {
      return send->communicator == of.communicator && send->peer == of.rank &&
             receive->peer == of.rank;
    }
  };
  std::optional<Exchange> LastExchange(uint32_t p, uint32_t site) const {
    const auto last = [&](bool sends) -> const Use* {
      const auto calls = sites_.find({site, sends});
      if (calls == sites_.end() || !calls->second.contains(p)) return nullptr;
      return &calls->second.at(p).all.back();
    };
    const Exchange exchange{last(true), last(false)};
    if (exchange.send == nullptr || exchange.receive == nullptr) return std::nullopt;
    if (exchange.send->event->start_ns != exchange.receive->event->start_ns) return std::nullopt;
    return exchange;
  }

  // Whether the receiver takes the message in its own call at the site.
  bool IsAwaited(const Use& send, uint32_t site) const {
    const auto other = LastExchange(PeerOf(send), site);
    return other && other->receive->peer == send.rank && other->receive->tag == send.tag;
  }

  // A rank sends to and receives from one partner. At the same site, the partner does one of the
  // two with another rank.
  std::optional<Stray> ByPartner(const Awaited& awaited) const {
    const Use& receive = awaited.receive;
    const uint32_t site = analysis_.sites.Id(receive.event->call_path);
    const auto own = LastExchange(receive.process, site);
    if (site == 0 || !own || own->receive->event->start_ns != receive.event->start_ns) {
      return std::nullopt;
    }
    const bool receives_oddly = own->send->peer != receive.peer;
    const uint32_t partner = receives_oddly ? PeerOf(*own->send) : awaited.sender;
    const auto other = partner == kNoIndex ? std::nullopt : LastExchange(partner, site);
    if (!other || other->send->communicator != receive.communicator) return std::nullopt;
    const Use& send = *other->send;
    const bool fits = receives_oddly
                          ? other->IsWith(receive)
                          : other->receive->peer == receive.rank && send.peer != receive.rank;
    if (!fits || send.tag != receive.tag || !IsLeft(send) || IsAwaited(send, site)) {
      return std::nullopt;
    }
    const Event& wrong = receives_oddly ? *receive.event : *send.event;
    return Make(awaited, send, !receives_oddly, wrong, Reason::kPartner);
  }

  // --- Decided by the calls that other ranks make at the same site.

  enum class Fit { kUnknown, kUsual, kOdd };

  // How many other processes use this tag at the site of `use`. A tag counts if it is the same
  // number. Tags at the same distance from the process' own rank, or from its peer's rank, count if
  // at least `enough` processes use such tags.
  size_t TagSupport(const Use& use, bool sends, int32_t tag, size_t enough) const {
    std::array<std::set<uint32_t>, 3> by_model;
    VisitOthers(use, sends, [&](const Use& other) {
      if (other.communicator != use.communicator) return;
      if (other.tag == tag) by_model[0].insert(other.process);
      if (other.tag - other.rank == tag - use.rank) by_model[1].insert(other.process);
      if (other.tag - other.peer == tag - use.peer) by_model[2].insert(other.process);
    });
    const size_t by_distance = std::max(by_model[1].size(), by_model[2].size());
    return std::max(by_model[0].size(), by_distance >= enough ? by_distance : 0);
  }

  // A single other rank has some distance by chance: it may confirm a tag, but is not enough to
  // call a tag wrong.
  Fit TagFit(const Use& use, bool sends, int32_t wanted) const {
    if (TagSupport(use, sends, wanted, 2) > TagSupport(use, sends, use.tag, 1)) return Fit::kOdd;
    if (TagSupport(use, sends, use.tag, 2) > TagSupport(use, sends, wanted, 1)) return Fit::kUsual;
    return Fit::kUnknown;
  }

  // The same for peers, by peer: the same rank, or a rank at the same distance in a ring of all
  // ranks.
  std::map<int32_t, size_t> PeersShown(const Use& use, bool sends) const {
    const auto size = static_cast<int32_t>(trace_.communicators[use.communicator].ranks.size());
    std::map<int32_t, std::set<uint32_t>> equal;
    std::map<int32_t, std::set<uint32_t>> distant;
    VisitOthers(use, sends, [&](const Use& other) {
      if (other.communicator != use.communicator) return;
      equal[other.peer].insert(other.process);
      const int32_t peer = (use.rank + other.peer - other.rank + size) % size;
      distant[peer].insert(other.process);
    });
    std::map<int32_t, size_t> shown;
    for (const auto* model : {&equal, &distant}) {
      for (const auto& [peer, processes] : *model) {
        shown[peer] = std::max(shown[peer], processes.size());
      }
    }
    return shown;
  }

  Fit CommunicatorFit(const Use& use, bool sends, uint32_t wanted) const {
    std::set<uint32_t> as_here;
    std::set<uint32_t> as_wanted;
    VisitOthers(use, sends, [&](const Use& other) {
      if (other.communicator == use.communicator) as_here.insert(other.process);
      if (other.communicator == wanted) as_wanted.insert(other.process);
    });
    return as_wanted.size() > as_here.size()   ? Fit::kOdd
           : as_wanted.size() < as_here.size() ? Fit::kUsual
                                               : Fit::kUnknown;
  }

  // Calls visit(use) for each kind of call that other processes make at the site of `use`.
  template <typename Visit>
  void VisitOthers(const Use& use, bool sends, const Visit& visit) const {
    const auto site = sites_.find({analysis_.sites.Id(use.event->call_path), sends});
    if (site == sites_.end()) return;
    for (const auto& [process, calls] : site->second) {
      if (process == use.process) continue;
      for (const Use& other : calls.kinds) visit(other);
    }
  }

  // The last call that sent a message of this kind.
  const Use* LastSend(uint32_t from, const Use& like) const {
    const Use* last = nullptr;
    const auto sites = sites_of_.find(from);
    if (sites == sites_of_.end()) return nullptr;
    for (const Site& site : sites->second) {
      if (!site.second) continue;
      for (const Use& use : sites_.at(site).at(from).all) {
        if (!use.IsLike(like)) continue;
        if (last == nullptr || use.event->start_ns > last->event->start_ns) last = &use;
      }
    }
    return last;
  }

  // The messages that the sender of an awaited message sent to the receiver instead, with another
  // tag or on another communicator, and that were not received.
  std::vector<Use> SentInstead(const Awaited& awaited) const {
    std::vector<Use> sent;
    const Use& receive = awaited.receive;
    for (const Channel& channel : trace_.processes[awaited.sender].channels) {
      if (channel.member == kNoIndex || channel.sent == 0 || channel.tag == ring::kAnyTag) continue;
      const Member& member = trace_.members[channel.member];
      const bool same_tag = receive.tag == ring::kAnyTag || channel.tag == receive.tag;
      if ((member.communicator != receive.communicator) != same_tag) continue;
      const Use like{awaited.sender, nullptr,      member.communicator,
                     member.rank,    channel.peer, channel.tag};
      if (PeerOf(like) != receive.process || !IsLeft(like)) continue;
      const Use* last = LastSend(awaited.sender, like);
      sent.push_back(last == nullptr ? like : *last);
    }
    return sent;
  }

  std::optional<Stray> ByTagsOfOthers(const Awaited& awaited) {
    std::vector<Stray> all;
    for (const Use& sent : SentInstead(awaited)) {
      if (std::optional<Stray> stray = JudgePair(awaited, sent)) all.push_back(*stray);
    }
    // If several messages would explain the wait, none is certain.
    return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
  }

  // Decides which end of a pair with different tags, or on different communicators, differs from
  // the other ranks that make the same call.
  std::optional<Stray> JudgePair(const Awaited& awaited, const Use& sent) {
    const Use& receive = awaited.receive;
    const bool tags = sent.tag != receive.tag && receive.tag != ring::kAnyTag;
    const auto fit = [&](const Use& use, bool sends, const Use& other) {
      return tags ? TagFit(use, sends, other.tag) : CommunicatorFit(use, sends, other.communicator);
    };
    const Fit send_fit = sent.event == nullptr ? Fit::kUnknown : fit(sent, true, receive);
    const Fit receive_fit = fit(receive, false, sent);
    if (send_fit == Fit::kOdd && receive_fit != Fit::kOdd) {
      return Make(awaited, sent, true, *sent.event, Reason::kOtherRanks);
    }
    if (receive_fit == Fit::kOdd && send_fit != Fit::kOdd) {
      return Make(awaited, sent, false, *receive.event, Reason::kOtherRanks);
    }
    if (!tags) return std::nullopt;
    // A tag that only one end uses is wrong if other ranks confirm the tag of the other end.
    if (receive_fit == Fit::kUsual && send_fit == Fit::kUnknown && sent.event != nullptr &&
        !IsReceived(sent.communicator, sent.tag) && IsSent(receive.communicator, receive.tag) &&
        !HasSent(awaited) && !IsSentByAnother(awaited)) {
      return Make(awaited, sent, true, *sent.event, Reason::kUnusedTag);
    }
    if (send_fit == Fit::kUsual && receive_fit == Fit::kUnknown &&
        !IsSent(receive.communicator, receive.tag)) {
      return Make(awaited, sent, false, *receive.event, Reason::kUnusedTag);
    }
    if (HasProbed(receive, sent)) {
      return Make(awaited, sent, false, *receive.event, Reason::kProbed);
    }
    return std::nullopt;
  }

  // Whether the waiting thread probed right before, and so may have found the message that was
  // sent.
  bool HasProbed(const Use& receive, const Use& sent) const {
    const std::vector<Event>& events = trace_.processes[receive.process].p2p;
    const auto last = std::find_if(events.rbegin(), events.rend(), [&](const Event& event) {
      return event.thread == receive.event->thread && event.start_ns < receive.event->start_ns;
    });
    if (last == events.rend() || last->member == kNoIndex) return false;
    for (const Message& message : MessagesOf(analysis_.Args(*last))) {
      const bool peer = message.peer == ring::kAnySource || message.peer == sent.rank;
      const bool tag = message.tag == ring::kAnyTag || message.tag == sent.tag;
      if (!message.probes || !peer || !tag) continue;
      return trace_.members[last->member].communicator == sent.communicator;
    }
    return false;
  }

  template <typename Predicate>
  bool AnyChannel(uint32_t communicator, const Predicate& predicate) const {
    for (const Process& process : trace_.processes) {
      for (const Channel& channel : process.channels) {
        if (channel.member == kNoIndex) continue;
        if (trace_.members[channel.member].communicator != communicator) continue;
        if (predicate(channel)) return true;
      }
    }
    return false;
  }
  bool IsSent(uint32_t communicator, int32_t tag) const {
    return AnyChannel(communicator, [tag](const Channel& channel) {
      return channel.sent != 0 && (channel.tag == tag || channel.tag == ring::kAnyTag);
    });
  }
  bool IsReceived(uint32_t communicator, int32_t tag) const {
    return AnyChannel(communicator, [tag](const Channel& channel) {
      return (channel.received != 0 || channel.receives_unseen) &&
             (channel.tag == tag || channel.tag == ring::kAnyTag);
    });
  }
  // Whether the sender of an awaited message has sent messages of this kind before.
  bool HasSent(const Awaited& awaited) const {
    const Use& receive = awaited.receive;
    const std::vector<Channel>& channels = trace_.processes[awaited.sender].channels;
    return std::ranges::any_of(channels, [&](const Channel& channel) {
      if (channel.member == kNoIndex || channel.sent == 0 || channel.tag != receive.tag) {
        return false;
      }
      const Member& member = trace_.members[channel.member];
      return member.communicator == receive.communicator && channel.peer == receive.rank;
    });
  }

  // The peers that a call should have instead of its own: two or more other ranks show such a peer,
  // and fewer show the call's own peer. If the rank itself also names such a peer at this site, it
  // probably loops over its neighbors, and the peer does not count. It does count if each other
  // rank always names one peer there: then the rank named it in an earlier round.
  std::vector<int32_t> RightPeers(const Use& use, bool sends) const {
    const std::map<int32_t, size_t> shown = PeersShown(use, sends);
    const auto own = shown.find(use.peer);
    const size_t support = std::max<size_t>(own == shown.end() ? 0 : own->second, 1);
    bool one_peer_each = true;
    std::map<uint32_t, int32_t> peers;
    VisitOthers(use, sends, [&](const Use& other) {
      one_peer_each &= peers.emplace(other.process, other.peer).first->second == other.peer;
    });
    const auto site = sites_.find({analysis_.sites.Id(use.event->call_path), sends});
    const auto names = [&](int32_t peer) {
      if (site == sites_.end() || !site->second.contains(use.process)) return false;
      const std::vector<Use>& kinds = site->second.at(use.process).kinds;
      return std::ranges::any_of(kinds, [&](const Use& other) {
        return other.communicator == use.communicator && other.peer == peer;
      });
    };
    std::vector<int32_t> right;
    for (const auto& [peer, count] : shown) {
      if (count > support && (one_peer_each || !names(peer))) right.push_back(peer);
    }
    return right;
  }

  // Whether another rank than the awaited one sent such a message that was not received.
  bool IsSentByAnother(const Awaited& awaited) const {
    const auto& members = analysis_.histories[awaited.receive.communicator].members;
    return std::ranges::any_of(members, [&](const MemberHistory& history) {
      Use receive = awaited.receive;
      receive.peer = history.member->rank;
      return history.process != awaited.sender && IsLeft(Reversed(receive));
    });
  }

  // Finds a send to another rank than the one that waits for the message, or a receive from another
  // rank than the one that sent it.
  std::optional<Stray> ByPeersOfOthers(const Awaited& awaited) {
    const Use& receive = awaited.receive;
    std::vector<Stray> all;
    for (const Site& site : sites_of_[awaited.sender]) {
      if (!site.second) continue;
      const Use* last = nullptr;
      for (const Use& use : sites_.at(site).at(awaited.sender).all) {
        if (use.communicator == receive.communicator && use.tag == receive.tag) last = &use;
      }
      if (last == nullptr || last->peer == receive.rank || !IsLeft(*last)) continue;
      if (IsInside(last->process, *last->event)) continue;
      if (!Contains(RightPeers(*last, true), receive.rank)) continue;
      all.push_back(Make(awaited, *last, true, *last->event, Reason::kOtherRanks));
    }
    // RightPeers() examines the calls of all ranks, and most receives have no such message.
    const bool any = IsSentByAnother(awaited);
    for (const int32_t peer : any ? RightPeers(receive, false) : std::vector<int32_t>()) {
      Use right = receive;
      right.peer = peer;
      const Use sent = Reversed(right);
      if (sent.process == kNoIndex || sent.process == awaited.sender || !IsLeft(sent)) continue;
      all.push_back(Make(awaited, sent, false, *receive.event, Reason::kOtherRanks));
    }
    return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
  }

  // Whether the process is still in this blocking send: the right send may follow it.
  bool IsInside(uint32_t process, const Event& send) const {
    const OpenCall* open = analysis_.graph.processes[process].open;
    return open != nullptr && open->event.start_ns == send.start_ns &&
           analysis_.KindOf(open->event) == Kind::kSend;
  }

  // --- Not decided.

  // The message that the sender sent in the same exchange in which it now waits itself.
  std::optional<Stray> Undecided(const Awaited& awaited) {
    const std::vector<Use> all = SentInstead(awaited);
    if (all.size() != 1 || all.front().event == nullptr) return std::nullopt;
    const Event& send = *all.front().event;
    const OpenCall* open = analysis_.graph.processes[awaited.sender].open;
    const bool together = open != nullptr && (open->event.start_ns == send.start_ns ||
                                              Contains(open->requests, send.request));
    if (!together && !IsAwaitedElsewhere(all.front())) return std::nullopt;
    return Make(awaited, all.front(), true, send, Reason::kNone);
  }

  // Whether another rank waits for a message with this tag. If so, the tag belongs to the exchange.
  bool IsAwaitedElsewhere(const Use& sent) const {
    return std::ranges::any_of(all_, [&](const Awaited& one) {
      return one.receive.communicator == sent.communicator && one.receive.tag == sent.tag &&
             one.receive.process != PeerOf(sent);
    });
  }

  // For one receiver, one of the two ends is wrong. For several receivers, the program is wrong on
  // all of them.
  void AddUndecided(std::vector<Stray> undecided) {
    const auto same = [&](const Stray& stray) {
      return stray.details.receive.process == undecided.front().details.receive.process;
    };
    const bool one = std::ranges::all_of(undecided, same);
    for (Stray& stray : undecided) {
      // A send that has not returned may be followed by the awaited one.
      if (one && IsInside(stray.culprit(), *stray.wrong)) continue;
      if (one) Add(stray);
      stray.sender_is_wrong = false;
      stray.wrong = stray.details.receive.event;
      if (!one) stray.details.reason = Reason::kEverywhere;
      Add(stray);
    }
  }

  Stray Make(const Awaited& awaited, const Use& sent, bool sender_is_wrong, const Event& wrong,
             Reason reason) const {
    const auto end = [](const Use& use) {
      return StrayDetails::End{use.process, use.event, use.communicator, use.tag};
    };
    Stray stray;
    stray.details = {end(sent), end(awaited.receive), PeerOf(sent), awaited.sender, reason};
    stray.wrong = &wrong;
    stray.sender_is_wrong = sender_is_wrong;
    return stray;
  }

  // Processes that are wrong at the same call site for the same reason share one incident.
  void Add(const Stray& stray) {
    const StrayDetails& details = stray.details;
    const auto known = std::ranges::find_if(incidents_, [&](const Incident& one) {
      return Contains(one.deviating, stray.culprit()) ||
             (one.Of<StrayDetails>().reason == details.reason &&
              (details.reason == Reason::kNone || details.reason == Reason::kEverywhere ||
               analysis_.Site(*one.deviating_event) == analysis_.Site(*stray.wrong)));
    });
    Incident& incident = known == incidents_.end() ? incidents_.emplace_back() : *known;
    if (stray.sender_is_wrong) incident.agreeing.push_back(details.receive.process);
    if (Contains(incident.deviating, stray.culprit())) return;
    incident.deviating.push_back(stray.culprit());
    incident.calls.push_back(stray.wrong);
    if (incident.deviating.size() > 1) return;
    incident.what = Incident::What::kStray;
    incident.hangs = true;
    incident.communicator = details.receive.communicator;
    incident.deviating_event = stray.wrong;
    incident.details = details;
  }

  const Analysis& analysis_;
  const Trace& trace_;
  std::vector<Awaited> all_;
  std::map<Site, std::map<uint32_t, Calls>> sites_;  // by process
  std::map<uint32_t, std::set<Site>> sites_of_;
  std::vector<Incident> incidents_;
};

}  // namespace

void FindStrays(const Analysis& analysis, std::vector<Incident>* incidents) {
  for (Incident& incident : StrayFinder(analysis).Find()) incidents->push_back(std::move(incident));
}

bool HasStray(const std::vector<Incident>& incidents, uint32_t process) {
  return std::ranges::any_of(incidents, [process](const Incident& incident) {
    if (incident.what != Incident::What::kStray) return false;
    const StrayDetails& details = incident.Of<StrayDetails>();
    return details.receive.process == process || Contains(incident.agreeing, process) ||
           Contains(incident.deviating, process);
  });
}

}  // namespace rollcall
