// SPDX-License-Identifier: Apache-2.0
// The messages that a point-to-point call sends or receives, from its arguments alone.
#ifndef ROLLCALL_COLLECTOR_MODEL_MESSAGES_H_
#define ROLLCALL_COLLECTOR_MODEL_MESSAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "collector/model/trace.h"
#include "proto/mpi_errors.h"

namespace rollcall {

struct Message {
  bool sends = false;
  int32_t peer = ring::kNoPeer;  // a rank in the communicator, or ring::kAnySource
  int32_t tag = ring::kNoTag;
  bool synchronous = false;  // a send that waits for its receive
  bool probes = false;       // checks for the message without receiving it
  bool partitioned = false;  // matches only partitioned operations (MPI 4.0, 4.2.1)
  bool matched = false;      // receives a message that a matched probe has already taken
};

// At most two messages: a Sendrecv sends one and receives one.
class Messages {
 public:
  void Add(const Message& message) {
    if (message.peer != ring::kProcNullPeer && message.peer != ring::kNoPeer) {
      messages_[count_++] = message;
    }
  }
  const Message* begin() const { return messages_.data(); }
  const Message* end() const { return messages_.data() + count_; }
  bool empty() const { return count_ == 0; }

 private:
  std::array<Message, 2> messages_;
  size_t count_ = 0;
};

// Empty for MPI_PROC_NULL and for calls that are not point-to-point. For the init of a persistent
// or partitioned request: the messages of each start.
Messages MessagesOf(const Arguments& arguments);

// Whether the error class that a call of `process` returned is MPI_ERR_TRUNCATE.
inline bool IsTruncation(const Process& process, uint64_t error_class) {
  return FindErrorClass(process.flavor, error_class).error == ErrorClass::kTRUNCATE;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_MESSAGES_H_
