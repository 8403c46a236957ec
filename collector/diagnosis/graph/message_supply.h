// What becomes of the messages of point-to-point calls, told from what every rank has sent,
// received and posted: does the one that a receive takes exist, is the one that was sent being
// taken, and does a partitioned one lack partitions?
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

// What the counts of messages show: kUnknown where those that decide are not whole.
enum class Counted : uint8_t { kNo, kUnknown, kYes };

// Of one trace, which it refers to. Not for several threads: what was sent is collected when it is
// first asked for.
class MessageSupply {
 public:
  explicit MessageSupply(const Trace& trace) : trace_(trace) {}

  // World ranks, by local rank, of whom `rank` exchanges messages with on the communicator.
  const std::vector<int32_t>& Peers(uint32_t communicator, int32_t rank) const;
  // kNoIndex for one without a trace.
  uint32_t ProcessOf(uint32_t world, int32_t rank) const;

  // `event` is the call that `message` belongs to, or that made its request, of `receiver`: more of
  // what it takes was sent than received. Unless as many receives of the same pattern were posted
  // before, which take it first (MPI 4.0, 3.5).
  Counted OnItsWay(uint32_t receiver, uint32_t communicator, const Message& message,
                   const Event& event);

  // A receive that takes the message of `sender` is posted, or has returned: the send will return,
  // whatever the receiver does meanwhile (MPI 4.0, 3.5, progress). Every message that was sent
  // before on the channel takes one of them, too.
  Counted BeingTaken(uint32_t sender, uint32_t communicator, uint32_t receiver, const Message& sent,
                     const Event& event) const;

  // How many partitions lack of the send that `event` started, of what a receive waits for that was
  // started so often. 0 where the sender's marks are not certain, and of a receive unless there is
  // one request of each end alone: they meet in the order of their initialisations (MPI 4.0,
  // 4.2.1).
  uint32_t UnmarkedOf(uint32_t sender, const Event& event) const;
  uint32_t UnmarkedFor(uint32_t receiver, uint32_t sender, uint32_t communicator,
                       const Message& message, uint64_t starts) const;

 private:
  // A pattern of messages on one communicator, as a receive or a channel names it.
  struct Pattern {
    int32_t peer = ring::kAnySource;
    int32_t tag = ring::kAnyTag;
    bool Covers(const Pattern& other) const {
      return (peer == ring::kAnySource || peer == other.peer) &&
             (tag == ring::kAnyTag || tag == other.tag);
    }
    friend bool operator==(const Pattern&, const Pattern&) = default;
  };

  template <typename Visit>
  void VisitOpenReceives(uint32_t p, uint32_t communicator, const Visit& visit) const;
  template <typename Visit>
  void VisitChannels(uint32_t p, uint32_t communicator, const Visit& visit) const;
  bool IsCountedApart(uint32_t p, uint32_t communicator, const Pattern& pattern) const;
  bool AreSendsCounted(uint32_t receiver, uint32_t communicator, const Message& message) const;
  void CollectInbound();
  std::optional<int32_t> RankSeenBy(uint32_t by, uint32_t communicator, uint32_t process) const;
  template <typename Visit>
  void VisitPartitioned(uint32_t p, uint32_t communicator, const Message& message,
                        const Visit& visit) const;
  const OpenRequest* OnlyPartitioned(uint32_t p, uint32_t communicator,
                                     const Message& message) const;

  const Trace& trace_;
  // By receiver and communicator: what was sent to it.
  std::unordered_map<uint64_t, std::vector<std::pair<Pattern, uint64_t>>> inbound_;
  bool inbound_known_ = false;
  bool channels_lost_ = false;  // of some process; known with `inbound_`
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_MESSAGE_SUPPLY_H_
