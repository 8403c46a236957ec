// SPDX-License-Identifier: Apache-2.0
// The interface between the network and the code that handles agents' messages.
#ifndef ROLLCALL_COLLECTOR_SERVICE_AGENT_LINK_H_
#define ROLLCALL_COLLECTOR_SERVICE_AGENT_LINK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "proto/collector.pb.h"

namespace rollcall::service {

// One agent's connection. Methods may be called from any thread, must not block, and may be called
// after the connection is gone.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void Send(const rpc::CollectorMessage& message) = 0;
  // One message has been handled: the link may read another from the network.
  virtual void Consumed() = 0;
  // Refuses the agent because it broke the protocol.
  virtual void Refuse(const std::string& why) = 0;
  // The number of the aggregator through which the agent is connected; 0: none.
  virtual uint64_t aggregator() const { return 0; }
};

// Handles agents' messages. The network calls it from any thread, in the order of an agent's
// messages, and may hold the link's own mutex meanwhile: a method must be brief and must not call
// the link. The handler may keep the link without a time limit; after Leave() no more messages come
// from it.
class AgentHandler {
 public:
  virtual ~AgentHandler() = default;
  // Returns the number that identifies the link in the other methods, from 1. No number is used
  // twice.
  virtual uint64_t Join(std::shared_ptr<AgentLink> link) = 0;
  virtual void Message(uint64_t agent, rpc::AgentMessage message) = 0;
  virtual void Leave(uint64_t agent) = 0;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_AGENT_LINK_H_
