// SPDX-License-Identifier: Apache-2.0
// The state of point-to-point messages, derived from the numbers of messages that every rank has
// sent, received and posted: whether the message that a receive takes exists, whether a sent
// message is being received, and whether a partitioned send lacks partitions.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_MESSAGE_SUPPLY_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_MESSAGE_SUPPLY_H_

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/model/messages.h"
#include "collector/model/trace.h"

namespace rollcall {

// What the counts of messages show; kUnknown if the decisive counts are incomplete.
enum class Counted : uint8_t { kNo, kUnknown, kYes };

// A pattern of messages on one communicator, as specified by a receive or a channel.
struct MessagePattern {
  int32_t peer = ring::kAnySource;
  int32_t tag = ring::kAnyTag;
  // Whether this pattern fits every message that `other` fits.
  bool Covers(const MessagePattern& other) const {
    return (peer == ring::kAnySource || peer == other.peer) &&
           (tag == ring::kAnyTag || tag == other.tag);
  }
  // Whether both patterns may fit one message.
  bool Overlaps(const MessagePattern& other) const {
    return (peer == ring::kAnySource || other.peer == ring::kAnySource || peer == other.peer) &&
           (tag == ring::kAnyTag || other.tag == ring::kAnyTag || tag == other.tag);
  }
  bool HasWildcard() const { return peer == ring::kAnySource || tag == ring::kAnyTag; }
  friend bool operator==(const MessagePattern&, const MessagePattern&) = default;
};
inline MessagePattern PatternOf(const Message& message) { return {message.peer, message.tag}; }

// Whether a receive with `pattern` may take every message that one with `message` may take.
inline bool Covers(const Message& pattern, const Message& message) {
  return PatternOf(pattern).Covers(PatternOf(message));
}

// Refers to the trace, which must outlive it. Not thread-safe: the sent messages are collected when
// first requested.
class MessageSupply {
 public:
  explicit MessageSupply(const Trace& trace) : trace_(trace) {}

  // World ranks, by local rank, of the group with which `rank` exchanges messages on the
  // communicator.
  const std::vector<int32_t>& Peers(uint32_t communicator, int32_t rank) const;

  // Whether there is a message for a receive: more matching messages were sent than were received
  // or are taken first by receives of the same pattern that were posted earlier (MPI 4.0, 3.5).
  // `event` is the receiver's call with `message`, or the call that made its request.
  Counted OnItsWay(uint32_t receiver, uint32_t communicator, const Message& message,
                   const Event& event);

  // How many messages that fit `message` were sent to the receiver, less those that it received and
  // that may have been among these. Negative if it may have received others.
  int64_t LeastLeft(uint32_t receiver, uint32_t communicator, const Message& message);

  // Whether a receive that takes the message of `sender` is posted or has returned. Then the send
  // returns, whatever the receiver does meanwhile (MPI 4.0, 3.5, progress). Every earlier message
  // on the channel uses up one receive as well.
  Counted BeingTaken(uint32_t sender, uint32_t communicator, uint32_t receiver, const Message& sent,
                     const Event& event) const;

  // The number of partitions that are not marked ready. UnmarkedOf: of the send that `event`
  // started. UnmarkedFor: of the send for which a receive waits that was started `starts` times. 0
  // if the sender's calls of MPI_Pready are not certain. UnmarkedFor also returns 0 unless there is
  // exactly one request at each end, because requests match in the order of their initialization
  // (MPI 4.0, 4.2.1).
  uint32_t UnmarkedOf(uint32_t sender, const Event& event) const;
  uint32_t UnmarkedFor(uint32_t receiver, uint32_t sender, uint32_t communicator,
                       const Message& message, uint64_t starts) const;

 private:
  using Pattern = MessagePattern;

  template <typename Visit>
  void VisitOpenReceives(uint32_t p, uint32_t communicator, const Visit& visit) const;
  template <typename Visit>
  void VisitChannels(uint32_t p, uint32_t communicator, const Visit& visit) const;
  bool IsCountedApart(uint32_t p, uint32_t communicator, const Pattern& pattern) const;
  bool AreSendsCounted(uint32_t receiver, uint32_t communicator, const Message& message) const;
  void CollectInbound();
  // The number of messages that fit the pattern and were sent to the receiver.
  uint64_t SentTo(uint32_t receiver, uint32_t communicator, const Pattern& wanted);
  std::optional<int32_t> RankSeenBy(uint32_t by, uint32_t communicator, uint32_t process) const;
  template <typename Visit>
  void VisitPartitioned(uint32_t p, uint32_t communicator, const Message& message,
                        const Visit& visit) const;
  const OpenRequest* OnlyPartitioned(uint32_t p, uint32_t communicator,
                                     const Message& message) const;

  const Trace& trace_;
  // What was sent, by receiver and communicator.
  std::unordered_map<uint64_t, std::vector<std::pair<Pattern, uint64_t>>> inbound_;
  bool inbound_known_ = false;
  bool channels_lost_ = false;  // of any process; valid with `inbound_`
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_MESSAGE_SUPPLY_H_
