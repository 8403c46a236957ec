// SPDX-License-Identifier: Apache-2.0
#include "collector/service/relayed_agents.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collector/base/find.h"

namespace rollcall::service {
namespace {

class RelayedLink : public AgentLink {
 public:
  RelayedLink(std::shared_ptr<AgentLink> link, uint64_t aggregator, uint64_t agent)
      : link_(std::move(link)), aggregator_(aggregator), agent_(agent) {}

  void Send(const rpc::CollectorMessage& message) override {
    rpc::CollectorMessage wrapped;
    wrapped.mutable_to_agent()->set_agent(agent_);
    *wrapped.mutable_to_agent()->mutable_message() = message;
    link_->Send(wrapped);
  }
  // The aggregator's link reads more once a whole FromAgents has been handled.
  void Consumed() override {}
  void Refuse(const std::string& why) override {
    rpc::CollectorMessage wrapped;
    wrapped.mutable_to_agent()->set_agent(agent_);
    wrapped.mutable_to_agent()->set_refusal(why);
    link_->Send(wrapped);
  }
  uint64_t aggregator() const override { return aggregator_; }

 private:
  const std::shared_ptr<AgentLink> link_;
  const uint64_t aggregator_;
  const uint64_t agent_;
};

}  // namespace

uint64_t RelayedAgents::Join(std::shared_ptr<AgentLink> link) {
  const uint64_t number = handler_->Join(link);
  const std::lock_guard lock(mutex_);
  links_[number].link = std::move(link);
  return number;
}

void RelayedAgents::Relay(uint64_t number, Aggregator* aggregator, rpc::FromAgent* from) {
  const auto known = aggregator->agents.find(from->agent());
  if (!from->has_message()) {
    if (known == aggregator->agents.end()) return;
    handler_->Leave(known->second);
    aggregator->agents.erase(known);
    return;
  }
  uint64_t agent = 0;
  if (known != aggregator->agents.end()) {
    agent = known->second;
  } else if (aggregator->agents.size() < kMaxAgents && aggregator->joins < kMaxJoins) {
    ++aggregator->joins;
    agent = handler_->Join(std::make_shared<RelayedLink>(aggregator->link, number, from->agent()));
    aggregator->agents[from->agent()] = agent;
  }
  if (agent != 0) handler_->Message(agent, std::move(*from->mutable_message()));
}

void RelayedAgents::Message(uint64_t agent, rpc::AgentMessage message) {
  if (message.has_from_agents()) {
    const std::lock_guard lock(mutex_);
    auto* aggregator = FindOrNull(links_, agent);
    if (aggregator == nullptr) return;
    auto& messages = *message.mutable_from_agents()->mutable_messages();
    for (int i = 0; i < std::min(messages.size(), kMaxMessages); ++i) {
      Relay(agent, aggregator, &messages[i]);
    }
    // The handler gets the rest of the message after these messages. Once the rest is consumed,
    // these messages are consumed as well.
    message.mutable_from_agents()->clear_messages();
  }
  handler_->Message(agent, std::move(message));
}

void RelayedAgents::Leave(uint64_t agent) {
  const std::lock_guard lock(mutex_);
  const auto link = links_.extract(agent);
  if (!link.empty()) {
    for (const auto& [number, relayed] : link.mapped().agents) handler_->Leave(relayed);
  }
  handler_->Leave(agent);
}

}  // namespace rollcall::service
