// SPDX-License-Identifier: Apache-2.0
// The numbers of messages that both ends of each pair of ranks have counted.
#ifndef ROLLCALL_COLLECTOR_REPORT_MESSAGE_PAIRS_H_
#define ROLLCALL_COLLECTOR_REPORT_MESSAGE_PAIRS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// One end of messages.
struct MessageEnd {
  enum class Kind : uint8_t {
    kRank,       // a rank in the communicator's world
    kMember,     // a rank in the communicator; its process is unknown
    kAnySource,  // unknown senders: the program did not request the status of a receive
  };
  Kind kind = Kind::kRank;
  int32_t number = -1;
  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of clang-tidy 14
  auto operator<=>(const MessageEnd&) const = default;

  // "rank 0", "member 0", "any source"
  std::string Text() const;
};

struct MessageCount {
  std::optional<uint64_t> sent;  // empty: unknown
  std::optional<uint64_t> received;
  // Number of messages that were sent but not counted as received; 0: none, or unknown.
  uint64_t outstanding = 0;
  // Fewer messages may be outstanding, because some receives are not counted (they had no status,
  // or ended unseen).
  bool at_most = false;
};

struct MessagePair {
  uint32_t communicator = kNoIndex;
  MessageEnd from;
  MessageEnd to;
  MessageCount all;  // over all tags
  // kAnyTag: messages with tags for which a ring had no more room, and receives whose status the
  // program did not request.
  std::map<int32_t, MessageCount> by_tag;
};

// Sorted by communicator, sender and receiver.
std::vector<MessagePair> CountMessages(const Trace& trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_MESSAGE_PAIRS_H_
