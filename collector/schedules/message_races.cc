// SPDX-License-Identifier: Apache-2.0
// In
//   0: Recv 1xMPI_INT peer=any tag=0 @ main:10
//   0: Recv 1xMPI_INT peer=1 tag=0 @ main:11
//   1: Send 1xMPI_INT peer=0 tag=0 @ main:20
//   2: Send 1xMPI_INT peer=0 tag=0 @ main:20
// nothing orders the two messages. If rank 0 took that of rank 2 first, the schedule "rank 1 first"
// leaves the second receive without a message.
#include "collector/schedules/message_races.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "collector/diagnosis/graph/message_supply.h"
#include "collector/matching/user_code.h"
#include "collector/model/messages.h"
#include "collector/model/rank_set.h"
#include "collector/schedules/clocks.h"
#include "proto/mix.h"
#include "proto/steer_plan.h"

namespace rollcall {
namespace {

// Suspicion of a schedule, in points.
constexpr int kOutOfOrder = 10;  // it reverses the order in which the messages were sent
constexpr int kInOrder = 3;
constexpr int kNamedSender = 4;     // the receiver also receives from a sender that it names
constexpr int kDifferentCalls = 3;  // the messages come from different calls, or have other tags
constexpr int kManyReceives = 2;    // the receiver has wildcards at more than one place
// Messages after the first two that are put in order.
constexpr int kAlternations = 4;
static_assert(kAlternations < steer::kMaxFirst);
// The messages of one receiver that are chosen at most, so that the time stays linear in the
// records.
constexpr size_t kMostChosen = 256;
// Less for each schedule of the same calls that is tried before.
constexpr int kSameCalls = 4;

struct Sent {
  SendAt at;
  const Event* event = nullptr;
  uint32_t number = 0;  // as plans count the messages of the sender to the receiver
  uint32_t communicator = kNoIndex;
  int32_t tag = 0;
  bool standard = false;  // or synchronous: the library can tell when its receive has begun
  bool taken = false;     // surely by a receive that names the sender
};

struct Wildcard {
  size_t at = 0;  // in the receiver's timeline
  uint32_t communicator = kNoIndex;
  int32_t tag = 0;
  uint64_t site = 0;
  bool receives = false;  // not only a probe
  // Any of several requests, whose receives name their senders: the order in which their messages
  // come decides which is complete first.
  bool of_requests = false;
};

bool TagFits(int32_t pattern, int32_t tag) { return pattern == ring::kAnyTag || pattern == tag; }

class Races {
 public:
  Races(const AlignedTrace& aligned, uint64_t seed)
      : aligned_(aligned), trace_(aligned.trace), seed_(seed) {
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      timelines_.push_back(aligned.Timeline(p));
    }
  }

  std::vector<Schedule> Find() {
    inbound_.resize(trace_.processes.size());
    wildcards_.resize(trace_.processes.size());
    patterns_.resize(trace_.processes.size());
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) CollectWildcards(p);
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) CollectSends(p);
    const bool any = std::ranges::any_of(
        wildcards_, [](const std::vector<Wildcard>& list) { return !list.empty(); });
    if (!any) return {};
    const Clocks clocks(aligned_, timelines_);
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      if (!wildcards_[p].empty()) FindAt(p, clocks);
    }
    return Rank();
  }

 private:
  // Schedules that reverse messages of the same calls at the same receiver.
  using Group = std::vector<Schedule>;

  uint32_t PeerOf(uint32_t p, const Event& event, int32_t peer) const {
    if (event.member == kNoIndex || peer < 0) return kNoIndex;
    const Process& process = trace_.processes[p];
    const std::vector<int32_t>& peers =
        messages_.Peers(aligned_.CommunicatorOf(event), process.rank);
    if (static_cast<size_t>(peer) >= peers.size()) return kNoIndex;
    return ProcessOf(trace_, process.world, peers[static_cast<size_t>(peer)]);
  }

  void CollectWildcards(uint32_t p) {
    for (size_t at = 0; at < timelines_[p].size(); ++at) {
      const Event& event = *timelines_[p][at];
      const Kind kind = aligned_.KindOf(event);
      if (TakesAny(kind) || TakesSome(kind)) {
        for (const uint32_t communicator : CommunicatorsOfReceives(p)) {
          wildcards_[p].push_back({.at = at,
                                   .communicator = communicator,
                                   .tag = ring::kAnyTag,
                                   .site = aligned_.Site(event),
                                   .of_requests = true});
        }
      }
      for (const Message& message : MessagesOf(aligned_.Args(event))) {
        if (message.sends || message.matched || message.peer != ring::kAnySource) continue;
        wildcards_[p].push_back({.at = at,
                                 .communicator = aligned_.CommunicatorOf(event),
                                 .tag = message.tag,
                                 .site = aligned_.Site(event),
                                 .receives = !message.probes});
      }
    }
  }

  // Of the nonblocking receives of the process.
  std::set<uint32_t> CommunicatorsOfReceives(uint32_t p) const {
    std::set<uint32_t> communicators;
    for (const Event* event : timelines_[p]) {
      if (aligned_.KindOf(*event) == Kind::kIrecv && event->member != kNoIndex)
        communicators.insert(aligned_.CommunicatorOf(*event));
    }
    return communicators;
  }

  void CollectSends(uint32_t p) {
    if (trace_.processes[p].HasLostRecords()) return;
    std::map<uint32_t, uint32_t> numbers;  // by receiver
    for (size_t at = 0; at < timelines_[p].size(); ++at) {
      const Event& event = *timelines_[p][at];
      const Operation operation = aligned_.Op(event);
      if (!steer::IsNumberedSend(operation)) continue;
      for (const Message& message : MessagesOf(aligned_.Args(event))) {
        const uint32_t to = PeerOf(p, event, message.peer);
        if (to == kNoIndex) continue;
        const uint32_t number = ++numbers[to];
        if (wildcards_[to].empty()) continue;
        inbound_[to].push_back({.at = {.process = p, .at = at},
                                .event = &event,
                                .number = number,
                                .communicator = aligned_.CommunicatorOf(event),
                                .tag = message.tag,
                                .standard = steer::IsStandardSend(operation) || message.synchronous,
                                .taken = false});
      }
    }
  }

  // Marks the messages that receives take which name their sender and were posted before the first
  // wildcard. A nonblocking one may be among those of which any is taken.
  void MarkTaken(uint32_t p) {
    const bool of_requests = std::ranges::any_of(wildcards_[p], &Wildcard::of_requests);
    std::map<uint32_t, std::vector<Sent*>> by_sender;
    for (Sent& sent : inbound_[p]) by_sender[sent.at.process].push_back(&sent);
    for (size_t at = 0; at < wildcards_[p].front().at; ++at) {
      const Event& event = *timelines_[p][at];
      const Kind kind = aligned_.KindOf(event);
      if (kind == Kind::kPersistentP2p || (of_requests && kind == Kind::kIrecv)) continue;
      for (const Message& message : MessagesOf(aligned_.Args(event))) {
        if (message.sends || message.probes || message.matched) continue;
        std::vector<Sent*>& sent = by_sender[PeerOf(p, event, message.peer)];
        const auto first = std::ranges::find_if(sent, [&](const Sent* one) {
          return one->communicator == aligned_.CommunicatorOf(event) &&
                 TagFits(message.tag, one->tag);
        });
        if (first == sent.end()) continue;
        (*first)->taken = true;
        sent.erase(first);
      }
    }
  }

  // Whether some wildcard could take either message.
  bool Compete(uint32_t p, const Sent& a, const Sent& b) const {
    return a.communicator == b.communicator &&
           std::ranges::any_of(patterns_[p], [&](const std::pair<uint32_t, int32_t>& pattern) {
             return pattern.first == a.communicator && TagFits(pattern.second, a.tag) &&
                    TagFits(pattern.second, b.tag);
           });
  }

  void FindAt(uint32_t p, const Clocks& clocks) {
    MarkTaken(p);
    for (const Wildcard& wildcard : wildcards_[p]) {
      patterns_[p].emplace(wildcard.communicator, wildcard.tag);
    }
    std::vector<const Sent*> sent;
    for (const Sent& one : inbound_[p]) {
      if (!one.taken && Compete(p, one, one)) sent.push_back(&one);
    }
    std::ranges::stable_sort(
        sent, [](const Sent* a, const Sent* b) { return a->event->start_ns < b->event->start_ns; });
    const bool named = ReceivesFromNamed(p);
    std::set<uint64_t> sites;
    for (const Wildcard& wildcard : wildcards_[p]) sites.insert(wildcard.site);
    const int points = (named ? kNamedSender : 0) + (sites.size() > 1 ? kManyReceives : 0);
    // The first ones, the last ones, and some between.
    const size_t step = std::max<size_t>(1, sent.size() / (kMostChosen / 2));
    for (size_t i = 0; i < sent.size(); ++i) {
      const bool edge = i < kMostChosen / 4 || i + kMostChosen / 4 >= sent.size();
      if ((edge || i % step == 0) && sent[i]->standard) {
        FindFirst(p, *sent[i], sent, points, clocks);
      }
    }
  }

  // Whether the process names the sender of a message after its first wildcard.
  bool ReceivesFromNamed(uint32_t p) const {
    for (size_t at = wildcards_[p].front().at; at < timelines_[p].size(); ++at) {
      for (const Message& message : MessagesOf(aligned_.Args(*timelines_[p][at]))) {
        if (!message.sends && !message.matched && message.peer >= 0) return true;
      }
    }
    return false;
  }

  // The schedule in which `chosen` comes before everything that it can overtake.
  void FindFirst(uint32_t p, const Sent& chosen, const std::vector<const Sent*>& all, int points,
                 const Clocks& clocks) {
    const Clock* clock = clocks.At(chosen.at);
    if (clock == nullptr) return;
    // The receiver must have received so many messages by wildcards before `chosen` can be sent.
    size_t received = 0;
    for (const Wildcard& wildcard : wildcards_[p]) {
      if (wildcard.at + 1 >= (*clock)[p]) break;
      received += wildcard.receives ? 1 : 0;
    }
    size_t before = 0;
    std::map<uint32_t, const Sent*> held;  // the first message of each other sender
    for (const Sent* other : all) {
      const uint32_t from = other->at.process;
      const bool own = from == chosen.at.process;
      const bool must_be_before =
          own ? other->at.at < chosen.at.at : other->at.at + 1 <= (*clock)[from];
      if (must_be_before || (!own && before < received && !held.contains(from))) {
        ++before;
        continue;
      }
      if (own || !Compete(p, *other, chosen)) continue;
      const Clock* later = clocks.At(other->at);
      const bool surely_later = later != nullptr && (*later)[chosen.at.process] >= chosen.at.at + 1;
      if (!surely_later) held.try_emplace(from, other);
    }
    if (!held.empty()) {
      Add(p, chosen, held, Alternation(p, chosen, held, all, clocks), points);
    }
  }

  // Lines by which the messages of the chosen sender and of one that is held alternate from then
  // on, as far as possible.
  std::string Alternation(uint32_t p, const Sent& chosen,
                          const std::map<uint32_t, const Sent*>& held,
                          const std::vector<const Sent*>& all, const Clocks& clocks) const {
    const Sent* before = &chosen;
    const Sent* now = held.begin()->second;
    for (const auto& [process, sent] : held) {
      if (sent->event->start_ns < now->event->start_ns) now = sent;
    }
    std::string lines;
    for (int i = 0; i < kAlternations; ++i) {
      const uint32_t from = before->at.process;
      const auto next = std::ranges::find_if(all, [&](const Sent* other) {
        return other->at.process == from && other->at.at > before->at.at &&
               Compete(p, *other, *now);
      });
      const Clock* clock = clocks.At(now->at);
      const bool possible = next != all.end() && now->standard && clock != nullptr &&
                            (*next)->at.at + 1 > (*clock)[from];
      if (!possible) break;
      lines += fmt::format("first {} {}:{} before {}:{}\n", aligned_.RankOf(p),
                           aligned_.RankOf(now->at.process), now->number, aligned_.RankOf(from),
                           (*next)->number);
      before = std::exchange(now, *next);
    }
    return lines;
  }

  void Add(uint32_t p, const Sent& chosen, const std::map<uint32_t, const Sent*>& held,
           const std::string& further, int points) {
    Schedule schedule;
    std::vector<int32_t> ranks;
    std::vector<uint64_t> key = {p, aligned_.Site(*chosen.event)};
    bool reversed = false;
    bool different = false;
    std::string messages;
    for (const auto& [process, sent] : held) {
      ranks.push_back(aligned_.RankOf(process));
      key.push_back(aligned_.Site(*sent->event));
      messages += fmt::format(" {}:{}", aligned_.RankOf(process), sent->number);
      reversed |= sent->event->start_ns < chosen.event->start_ns;
      different |= sent->tag != chosen.tag || key.back() != key[1];
    }
    Normalize(&ranks);
    std::sort(key.begin() + 2, key.end());
    key.erase(std::unique(key.begin() + 2, key.end()), key.end());
    const int32_t to = aligned_.RankOf(p);
    const int32_t from = aligned_.RankOf(chosen.at.process);
    schedule.lines =
        fmt::format("first {} {}:{} before{}\n", to, from, chosen.number, messages) + further;
    schedule.title =
        fmt::format("rank {} receives message {} of rank {}{} before the next of {}", to,
                    chosen.number, from, PlaceOf(*chosen.event), RanksPhrase(ranks));
    schedule.suspicion =
        (reversed ? kOutOfOrder : kInOrder) + points + (different ? kDifferentCalls : 0);
    groups_[key].push_back(std::move(schedule));
  }

  // " at work.c:12 in worker()", or empty.
  std::string PlaceOf(const Event& event) const {
    const SourceFrame frame = aligned_.sites.UserFrame(event.call_path);
    return frame.function.empty() ? "" : " at " + PlaceText(frame);
  }

  // The first and the last of a group first, then the others in an order of the seed. Each further
  // one is less suspicious.
  std::vector<Schedule> Rank() {
    std::vector<Schedule> all;
    uint64_t random = seed_;
    for (auto& [key, group] : groups_) {
      std::ranges::stable_sort(
          group, [](const Schedule& a, const Schedule& b) { return a.suspicion > b.suspicion; });
      if (group.size() > 2) std::swap(group[1], group.back());
      for (size_t i = 2; i + 1 < group.size(); ++i) {
        random = Mix64(random, i);
        std::swap(group[i], group[i + random % (group.size() - i)]);
      }
      for (size_t i = 0; i < group.size(); ++i) {
        group[i].suspicion -= kSameCalls * static_cast<int>(i);
        all.push_back(std::move(group[i]));
      }
    }
    return all;
  }

  const AlignedTrace& aligned_;
  const Trace& trace_;
  const uint64_t seed_;
  MessageSupply messages_{trace_};
  std::vector<std::vector<const Event*>> timelines_;  // by process
  std::vector<std::vector<Sent>> inbound_;            // by receiver, of receivers with wildcards
  std::vector<std::vector<Wildcard>> wildcards_;      // by receiver, in the order of the calls
  std::vector<std::set<std::pair<uint32_t, int32_t>>> patterns_;  // communicators and tags of those
  std::map<std::vector<uint64_t>, Group> groups_;
};

}  // namespace

std::vector<Schedule> FindMessageRaces(const AlignedTrace& aligned, uint64_t seed) {
  return Races(aligned, seed).Find();
}

}  // namespace rollcall
