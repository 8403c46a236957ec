// SPDX-License-Identifier: Apache-2.0
// An aggregator between a fake collector and agents that connect by gRPC.
#include "collector/aggregate/aggregating_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "collector/agent/grpc_transport.h"
#include "tests/support/fake_transport.h"

namespace rollcall::aggregate {
namespace {

constexpr char kToken[] = "0123456789abcdef";

// Waits on the transport's descriptor until `done` returns true; false after a timeout.
bool WaitOn(agent::Transport* transport, const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    pollfd entry{transport->wake_fd(), POLLIN, 0};
    uint64_t count = 0;
    if (poll(&entry, 1, 100) == 1 && read(transport->wake_fd(), &count, sizeof(count)) < 0) {
      return false;
    }
  }
  return true;
}

rpc::AgentMessage Says(const std::string& text) {
  rpc::AgentMessage message;
  message.mutable_problem()->set_text(text);
  return message;
}

class AggregatorOverGrpcTest : public ::testing::Test {
 protected:
  AggregatorOverGrpcTest() {
    service::SilenceGrpc();
    auto collector = std::make_unique<agent::FakeTransport>();
    collector_ = collector.get();
    transport_ =
        std::make_unique<AggregatingTransport>(std::move(collector), "127.0.0.1:1", kToken);
  }

  void Tell(const rpc::CollectorMessage& message) {
    collector_->Ask(message);
    for (rpc::CollectorMessage& own : transport_->Receive()) received_.push_back(std::move(own));
  }
  // Makes it an aggregator and returns the address at which it serves.
  std::string Aggregate() {
    rpc::CollectorMessage message;
    message.mutable_aggregate();
    Tell(message);
    std::string address;
    EXPECT_TRUE(collector_->WaitFor([&](const auto& sent) {
      for (const rpc::AgentMessage& one : sent) address = one.aggregator().address();
      return !address.empty();
    }));
    return address;
  }
  // Waits for `count` relayed messages and returns all, as "agent text" or "agent left".
  std::vector<std::string> WaitForRelayed(size_t count) {
    std::vector<std::string> relayed;
    collector_->WaitFor([&](const auto& sent) {
      relayed.clear();
      for (const rpc::AgentMessage& message : sent) {
        for (const rpc::FromAgent& from : message.from_agents().messages()) {
          relayed.push_back(std::to_string(from.agent()) + " " +
                            (from.has_message() ? from.message().problem().text() : "left"));
        }
      }
      return relayed.size() >= count;
    });
    return relayed;
  }
  static std::unique_ptr<agent::Transport> Connect(const std::string& address,
                                                   const std::string& text) {
    auto agent = agent::ConnectToCollector(address, kToken);
    EXPECT_TRUE(WaitOn(agent.get(), [&] { return agent->connection() != 0; }));
    agent->Send(agent->connection(), Says(text));
    return agent;
  }

  agent::FakeTransport* collector_ = nullptr;
  std::unique_ptr<AggregatingTransport> transport_;
  std::vector<rpc::CollectorMessage> received_;  // messages for its own agent
};

TEST_F(AggregatorOverGrpcTest, PassesMessagesBetweenItsOwnAgentAndTheCollector) {
  rpc::AgentMessage hello;
  hello.mutable_hello()->set_host("here");
  transport_->Send(1, hello);
  transport_->Send(1, Says("own"));
  rpc::CollectorMessage request;
  request.mutable_snapshot()->set_request(3);
  Tell(request);
  ASSERT_EQ(received_.size(), 1u);
  EXPECT_EQ(received_[0].snapshot().request(), 3u);
  EXPECT_TRUE(collector_->WaitFor([](const auto& sent) {
    return sent.size() == 2 && sent[0].hello().can_aggregate() && sent[1].problem().text() == "own";
  }));
}

TEST_F(AggregatorOverGrpcTest, RelaysAgentMessagesToTheCollectorAndAnswersToTheAddressedAgent) {
  const std::string address = Aggregate();
  const auto first = Connect(address, "a");
  EXPECT_THAT(WaitForRelayed(1), ::testing::ElementsAre("1 a"));
  const auto second = Connect(address, "b");
  EXPECT_THAT(WaitForRelayed(2), ::testing::ElementsAre("1 a", "2 b"));

  rpc::CollectorMessage message;
  message.mutable_to_agent()->set_agent(2);
  message.mutable_to_agent()->mutable_message()->mutable_snapshot()->set_request(5);
  Tell(message);
  std::vector<rpc::CollectorMessage> got;
  ASSERT_TRUE(WaitOn(second.get(), [&] { return !(got = second->Receive()).empty(); }));
  EXPECT_EQ(got[0].snapshot().request(), 5u);
  EXPECT_TRUE(first->Receive().empty());
  EXPECT_TRUE(received_.empty());
}

TEST_F(AggregatorOverGrpcTest, ReportsDisconnectedAgentToTheCollector) {
  auto agent = Connect(Aggregate(), "a");
  WaitForRelayed(1);
  agent.reset();
  EXPECT_THAT(WaitForRelayed(2), ::testing::ElementsAre("1 a", "1 left"));
}

TEST_F(AggregatorOverGrpcTest, ForwardsShutdownToAllAgents) {
  const auto agent = Connect(Aggregate(), "a");
  WaitForRelayed(1);
  rpc::CollectorMessage message;
  message.mutable_shutdown()->set_keep(true);
  Tell(message);
  ASSERT_EQ(received_.size(), 1u);
  EXPECT_TRUE(received_[0].has_shutdown());
  std::vector<rpc::CollectorMessage> got;
  ASSERT_TRUE(WaitOn(agent.get(), [&] { return !(got = agent->Receive()).empty(); }));
  EXPECT_TRUE(got[0].shutdown().keep());
}

// A new collector knows nothing about the agents, so they must send everything again.
TEST_F(AggregatorOverGrpcTest, DisconnectsAgentsWhenTheCollectorIsLost) {
  const auto agent = Connect(Aggregate(), "a");
  WaitForRelayed(1);
  const uint64_t before = agent->connection();
  collector_->Disconnect();
  EXPECT_TRUE(WaitOn(agent.get(), [&] {
    transport_->Receive();
    return agent->connection() != before;
  }));
}

// The thread that relays messages may notice the end of the connection before the aggregator's own
// agent reads the shutdown.
TEST_F(AggregatorOverGrpcTest, ForwardsShutdownThatPrecedesTheEndOfTheConnection) {
  const auto agent = Connect(Aggregate(), "a");
  WaitForRelayed(1);
  collector_->SetRoom(false);
  agent->Send(agent->connection(), Says("b"));
  ASSERT_TRUE(collector_->WaitForRefusals(1));
  rpc::CollectorMessage message;
  message.mutable_shutdown()->set_keep(true);
  collector_->Ask(message);
  collector_->Disconnect();
  ASSERT_TRUE(collector_->WaitForRefusals(4)) << "the agent was refused";
  transport_->Receive();
  std::vector<rpc::CollectorMessage> got;
  ASSERT_TRUE(WaitOn(agent.get(), [&] { return !(got = agent->Receive()).empty(); }));
  EXPECT_TRUE(got[0].has_shutdown());
}

TEST_F(AggregatorOverGrpcTest, KeepsMessagesInOrderWhileTheCollectorAcceptsNone) {
  const std::string address = Aggregate();
  collector_->SetRoom(false);
  const auto agent = Connect(address, "0");
  for (int i = 1; i < 100; ++i) agent->Send(agent->connection(), Says(std::to_string(i)));
  ASSERT_TRUE(collector_->WaitForRefusals(3));
  EXPECT_TRUE(WaitForRelayed(0).empty());
  collector_->SetRoom(true);
  const std::vector<std::string> relayed = WaitForRelayed(100);
  ASSERT_EQ(relayed.size(), 100u);
  for (size_t i = 0; i < relayed.size(); ++i) EXPECT_EQ(relayed[i], "1 " + std::to_string(i));
}

// An agent that is told to attach to an aggregator, which may not exist.
class ParentOverGrpcTest : public AggregatorOverGrpcTest {
 protected:
  // The real collector; it records the agents' greetings.
  class Handler : public service::AgentHandler {
   public:
    uint64_t Join(std::shared_ptr<service::AgentLink> link) override {
      const std::lock_guard lock(mutex_);
      links_.push_back(std::move(link));
      changed_.notify_all();
      return links_.size();
    }
    void Message(uint64_t agent, rpc::AgentMessage message) override {
      const std::lock_guard lock(mutex_);
      if (message.has_hello()) hellos_.emplace_back(agent, message.hello().keeps_direct());
      changed_.notify_all();
    }
    void Leave(uint64_t) override {}
    std::shared_ptr<service::AgentLink> WaitForLink(size_t count) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::seconds(20), [&] { return links_.size() >= count; });
      return links_.size() < count ? nullptr : links_[count - 1];
    }
    std::vector<std::pair<uint64_t, bool>> WaitForHellos(size_t count) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::seconds(20), [&] { return hellos_.size() >= count; });
      return hellos_;
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<service::AgentLink>> links_;
    std::vector<std::pair<uint64_t, bool>> hellos_;  // number, keeps_direct
  };

  ParentOverGrpcTest() {
    server_ = service::Serve("127.0.0.1:0", kToken, &handler_).value_or(nullptr);
    EXPECT_NE(server_, nullptr);
    agent_ = agent::ConnectToCollector("127.0.0.1:" + std::to_string(server_->port()), kToken);
  }
  void SendParent(const std::string& address) {
    rpc::CollectorMessage message;
    message.mutable_parent()->set_address(address);
    const auto link = handler_.WaitForLink(1);
    ASSERT_NE(link, nullptr);
    link->Send(message);
  }
  void SayHello() {
    rpc::AgentMessage hello;
    hello.mutable_hello()->set_host("here");
    agent_->Send(agent_->connection(), hello);
  }

  Handler handler_;
  std::unique_ptr<service::CollectorServer> server_;
  std::unique_ptr<agent::Transport> agent_;
};

TEST_F(ParentOverGrpcTest, AgentAttachesToAssignedAggregatorAndReturnsWhenItEnds) {
  ASSERT_TRUE(WaitOn(agent_.get(), [&] { return agent_->connection() == 1; }));
  SendParent(Aggregate());
  ASSERT_TRUE(WaitOn(agent_.get(), [&] { return agent_->connection() == 2; }));
  agent_->Send(2, Says("a"));
  EXPECT_THAT(WaitForRelayed(1), ::testing::ElementsAre("1 a"));
  transport_.reset();
  ASSERT_TRUE(WaitOn(agent_.get(), [&] { return agent_->connection() == 3; }));
  SayHello();
  EXPECT_THAT(handler_.WaitForHellos(1), ::testing::ElementsAre(std::pair(uint64_t{2}, false)));
}

TEST_F(ParentOverGrpcTest, AgentStaysWithTheCollectorIfTheAggregatorIsUnreachable) {
  ASSERT_TRUE(WaitOn(agent_.get(), [&] { return agent_->connection() == 1; }));
  SendParent("127.0.0.1:1");
  ASSERT_TRUE(WaitOn(agent_.get(), [&] { return agent_->connection() == 2; }));
  SayHello();
  EXPECT_THAT(handler_.WaitForHellos(1), ::testing::ElementsAre(std::pair(uint64_t{2}, true)));
}

}  // namespace
}  // namespace rollcall::aggregate
