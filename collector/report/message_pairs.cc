// SPDX-License-Identifier: Apache-2.0
#include "collector/report/message_pairs.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "collector/model/message_counts.h"

namespace rollcall {
namespace {

constexpr MessageEnd kAnySender{MessageEnd::Kind::kAnySource, 0};

void AddTo(std::optional<uint64_t>* sum, uint64_t count) { *sum = sum->value_or(0) + count; }

class Pairs {
 public:
  explicit Pairs(const Trace& trace) : trace_(trace) {
    for (const Process& process : trace.processes) {
      for (const PeerCount& sum : process.peer_counts) {
        Add(process, sum, [](MessagePair& pair) -> MessageCount& { return pair.all; });
      }
      for (const Channel& channel : process.channels) {
        Add(process, channel,
            [&](MessagePair& pair) -> MessageCount& { return pair.by_tag[channel.tag]; });
      }
    }
  }

  std::vector<MessagePair> Finish() {
    std::vector<MessagePair> all;
    all.reserve(pairs_.size());
    for (auto& [key, pair] : pairs_) Compare(&pair);
    for (auto& [key, pair] : pairs_) all.push_back(std::move(pair));
    return all;
  }

 private:
  using Key = std::tuple<uint32_t, MessageEnd, MessageEnd>;

  MessagePair& PairOf(uint32_t communicator, const MessageEnd& from, const MessageEnd& to) {
    MessagePair& pair = pairs_[{communicator, from, to}];
    pair.communicator = communicator;
    pair.from = from;
    pair.to = to;
    return pair;
  }

  MessageEnd PeerOf(const Process& process, uint32_t communicator, int32_t peer) const {
    if (peer == ring::kAnySource) return kAnySender;
    const Communicator& comm = trace_.communicators[communicator];
    const std::vector<int32_t>& ranks = PeerRanks(comm, process.rank);
    if (HasOutsiders(comm) || peer < 0 || static_cast<size_t>(peer) >= ranks.size()) {
      return {MessageEnd::Kind::kMember, peer};
    }
    return {MessageEnd::Kind::kRank, ranks[static_cast<size_t>(peer)]};
  }

  // Adds the counts of a process for one of its peers.
  template <typename Counted, typename Select>
  void Add(const Process& process, const Counted& counted, const Select& select) {
    const uint32_t communicator = trace_.members[counted.member].communicator;
    const MessageEnd self{MessageEnd::Kind::kRank, process.rank};
    const MessageEnd peer = PeerOf(process, communicator, counted.peer);
    if (counted.sent != 0) {
      AddTo(&select(PairOf(communicator, self, peer)).sent, counted.sent);
    }
    if (counted.received != 0 || counted.receives_unseen) {
      MessageCount& count = select(PairOf(communicator, peer, self));
      AddTo(&count.received, counted.received);
      count.at_most |= counted.receives_unseen;
    }
  }

  const Process* ProcessAt(uint32_t communicator, const MessageEnd& end) const {
    if (end.kind != MessageEnd::Kind::kRank) return nullptr;
    const uint32_t world = trace_.communicators[communicator].world;
    const uint32_t process = ProcessOf(trace_, world, end.number);
    return process == kNoIndex ? nullptr : &trace_.processes[process];
  }

  // Sets a missing count to 0 if the process has lost no counts of this kind. `lost`: the member of
  // Process that says whether it has.
  static void FillIn(const Process* process, bool Process::*lost, std::optional<uint64_t>* count) {
    if (!count->has_value() && process != nullptr && !(process->*lost)) *count = 0;
  }

  static void SetOutstanding(MessageCount* count) {
    if (count->sent && count->received && *count->sent > *count->received) {
      count->outstanding = *count->sent - *count->received;
    }
  }

  void Compare(MessagePair* pair) {
    if (pair->from == kAnySender) return;
    const Process* from = ProcessAt(pair->communicator, pair->from);
    const Process* to = ProcessAt(pair->communicator, pair->to);
    const auto any = pairs_.find({pair->communicator, kAnySender, pair->to});
    FillIn(from, &Process::peer_counts_lost, &pair->all.sent);
    FillIn(to, &Process::peer_counts_lost, &pair->all.received);
    pair->all.at_most |= any != pairs_.end();
    SetOutstanding(&pair->all);
    const auto untagged = pair->by_tag.find(ring::kAnyTag);
    const bool has_untagged = untagged != pair->by_tag.end() && untagged->second.received;
    for (auto& [tag, count] : pair->by_tag) {
      if (tag == ring::kAnyTag) continue;  // the two ends may have counted different tags here
      FillIn(from, &Process::channels_lost, &count.sent);
      FillIn(to, &Process::channels_lost, &count.received);
      count.at_most |= has_untagged;
      if (any != pairs_.end()) {
        const auto& tags = any->second.by_tag;
        count.at_most |= tags.contains(tag) || tags.contains(ring::kAnyTag);
      }
      SetOutstanding(&count);
    }
  }

  const Trace& trace_;
  std::map<Key, MessagePair> pairs_;
};

}  // namespace

std::string MessageEnd::Text() const {
  switch (kind) {
    case Kind::kRank:
      return fmt::format("rank {}", number);
    case Kind::kMember:
      return fmt::format("member {}", number);
    case Kind::kAnySource:
      break;
  }
  return "any source";
}

std::vector<MessagePair> CountMessages(const Trace& trace) { return Pairs(trace).Finish(); }

}  // namespace rollcall
