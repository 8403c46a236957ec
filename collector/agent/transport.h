// SPDX-License-Identifier: Apache-2.0
// Carries the agent's messages. The agent uses the network through this interface only, so its
// tests can use a fake, also under ThreadSanitizer.
#ifndef ROLLCALL_COLLECTOR_AGENT_TRANSPORT_H_
#define ROLLCALL_COLLECTOR_AGENT_TRANSPORT_H_

#include <cstdint>
#include <vector>

#include "proto/collector.pb.h"

namespace rollcall::agent {

// Thread safety: every method may be called from any thread. Nothing blocks.
class Transport {
 public:
  virtual ~Transport() = default;

  // A number that increases with every connection made; 0 while there is no connection. A new
  // number means a collector without state, which must be sent everything again.
  virtual uint64_t connection() const = 0;

  // Queues a message for connection `connection`; drops it if that connection is gone.
  virtual void Send(uint64_t connection, rpc::AgentMessage message) = 0;
  // Whether the queue has room for more bulk data (snapshots). Small messages are always accepted.
  virtual bool HasRoom() const = 0;

  // Returns the messages that have arrived since the last call.
  virtual std::vector<rpc::CollectorMessage> Receive() = 0;
  // An eventfd that becomes readable when Receive(), connection() or HasRoom() may have changed;
  // the agent drains it.
  virtual int wake_fd() const = 0;
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_TRANSPORT_H_
