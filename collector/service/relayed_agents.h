// The agents behind aggregators, each as if it had a connection of its own.
#ifndef ROLLCALL_COLLECTOR_SERVICE_RELAYED_AGENTS_H_
#define ROLLCALL_COLLECTOR_SERVICE_RELAYED_AGENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "collector/service/agent_link.h"

namespace rollcall::service {

// Stands between the network and a handler, which must outlive it: takes FromAgents apart, and
// wraps what the handler sends to such an agent into ToAgent. An aggregator that leaves takes its
// agents with it.
class RelayedAgents : public AgentHandler {
 public:
  // Of one aggregator, at once and on one connection. What further ones say is dropped, as is what
  // one message holds beyond so many.
  static constexpr size_t kMostAgents = 1024;
  static constexpr size_t kMostJoins = 16 * kMostAgents;
  static constexpr int kMostMessages = 1 << 16;

  explicit RelayedAgents(AgentHandler* handler) : handler_(handler) {}

  uint64_t Join(std::shared_ptr<AgentLink> link) override;
  void Message(uint64_t agent, rpc::AgentMessage message) override;
  void Leave(uint64_t agent) override;

 private:
  struct Aggregator {
    std::shared_ptr<AgentLink> link;
    std::map<uint64_t, uint64_t> agents;  // its number of each, the handler's
    size_t joins = 0;
  };

  void Relay(uint64_t number, Aggregator* aggregator, rpc::FromAgent* from);

  AgentHandler* const handler_;
  std::mutex mutex_;
  std::map<uint64_t, Aggregator> links_;  // all that joined, aggregators or not
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_RELAYED_AGENTS_H_
