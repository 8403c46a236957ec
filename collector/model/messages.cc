// SPDX-License-Identifier: Apache-2.0
#include "collector/model/messages.h"

namespace rollcall {

Messages MessagesOf(const Arguments& arguments) {
  const Operation operation = arguments.operation;
  const Kind kind = FindOperation(static_cast<uint16_t>(operation)).kind;
  Messages messages;
  Message first{.peer = arguments.root_or_peer, .tag = arguments.tag};
  switch (kind) {
    case Kind::kSend:
    case Kind::kIsend:
    case Kind::kSendrecv:
      first.sends = true;
      break;
    case Kind::kRecv:
    case Kind::kIrecv:
      break;
    case Kind::kMrecv:
    case Kind::kImrecv:
      first.matched = true;
      break;
    case Kind::kProbe:
    case Kind::kIprobe:
      first.probes = true;
      break;
    case Kind::kPersistentP2p:
      first.sends = operation != Operation::kRecv_init && operation != Operation::kPrecv_init;
      first.partitioned =
          operation == Operation::kPsend_init || operation == Operation::kPrecv_init;
      break;
    default:
      return messages;
  }
  first.synchronous = operation == Operation::kSsend || operation == Operation::kIssend ||
                      operation == Operation::kSsend_init;
  messages.Add(first);
  if ((arguments.flags & ring::kSecondPart) != 0) {
    messages.Add({.peer = arguments.peer2, .tag = arguments.tag2});
  }
  return messages;
}

}  // namespace rollcall
