// SPDX-License-Identifier: Apache-2.0
// Presents each agent that is connected through an aggregator as if it had its own connection.
#ifndef ROLLCALL_COLLECTOR_SERVICE_RELAYED_AGENTS_H_
#define ROLLCALL_COLLECTOR_SERVICE_RELAYED_AGENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "collector/service/agent_link.h"

namespace rollcall::service {

// Stands between the network and a handler, which must outlive it. Unpacks FromAgents, and wraps
// the handler's messages to such an agent into ToAgent. When an aggregator leaves, its agents leave
// as well.
class RelayedAgents : public AgentHandler {
 public:
  // Limits of one aggregator: agents at once, agents over one connection, and agents' messages in
  // one FromAgents. Anything beyond them is dropped.
  static constexpr size_t kMaxAgents = 1024;
  static constexpr size_t kMaxJoins = 16 * kMaxAgents;
  static constexpr int kMaxMessages = 1 << 16;

  explicit RelayedAgents(AgentHandler* handler) : handler_(handler) {}

  uint64_t Join(std::shared_ptr<AgentLink> link) override;
  void Message(uint64_t agent, rpc::AgentMessage message) override;
  void Leave(uint64_t agent) override;

 private:
  struct Aggregator {
    std::shared_ptr<AgentLink> link;
    std::map<uint64_t, uint64_t> agents;  // the handler's number, by the aggregator's
    size_t joins = 0;
  };

  void Relay(uint64_t number, Aggregator* aggregator, rpc::FromAgent* from);

  AgentHandler* const handler_;
  std::mutex mutex_;
  std::map<uint64_t, Aggregator> links_;  // all links that joined, aggregators or not
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_RELAYED_AGENTS_H_
