// SPDX-License-Identifier: Apache-2.0
#include "collector/service/relayed_agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "collector/report/json_report.h"
#include "collector/service/monitor.h"
#include "tests/collector/service/fake_agent.h"

namespace rollcall::service {
namespace {

using ::testing::ElementsAre;

// Records the calls that it receives.
class Recorder : public AgentHandler {
 public:
  uint64_t Join(std::shared_ptr<AgentLink> link) override {
    links.push_back(std::move(link));
    said.push_back("join " + std::to_string(links.size()));
    return links.size();
  }
  void Message(uint64_t agent, rpc::AgentMessage message) override {
    said.push_back(std::to_string(agent) + " " +
                   (message.has_from_agents() ? "batch" : message.problem().text()));
  }
  void Leave(uint64_t agent) override { said.push_back("leave " + std::to_string(agent)); }

  std::vector<std::shared_ptr<AgentLink>> links;
  std::vector<std::string> said;
};

class SentLink : public AgentLink {
 public:
  void Send(const rpc::CollectorMessage& message) override { sent.push_back(message); }
  void Consumed() override { ++consumed; }
  void Refuse(const std::string&) override {}
  std::vector<rpc::CollectorMessage> sent;
  int consumed = 0;
};

rpc::AgentMessage Says(const std::string& text) {
  rpc::AgentMessage message;
  message.mutable_problem()->set_text(text);
  return message;
}

rpc::AgentMessage From(const std::vector<std::pair<uint64_t, rpc::AgentMessage>>& messages) {
  rpc::AgentMessage batch;
  for (const auto& [agent, message] : messages) {
    rpc::FromAgent* from = batch.mutable_from_agents()->add_messages();
    from->set_agent(agent);
    if (message.message_case() != rpc::AgentMessage::MESSAGE_NOT_SET) {
      *from->mutable_message() = message;
    }
  }
  return batch;
}

class RelayedAgentsTest : public ::testing::Test {
 protected:
  RelayedAgentsTest() { aggregator_ = agents_.Join(link_); }

  Recorder recorder_;
  RelayedAgents agents_{&recorder_};
  const std::shared_ptr<SentLink> link_ = std::make_shared<SentLink>();
  uint64_t aggregator_ = 0;
};

TEST_F(RelayedAgentsTest, EachRelayedAgentJoinsOnceUnderItsOwnNumber) {
  agents_.Message(aggregator_, Says("own"));
  agents_.Message(aggregator_, From({{7, Says("a")}, {9, Says("b")}, {7, Says("c")}}));
  EXPECT_THAT(recorder_.said,
              ElementsAre("join 1", "1 own", "join 2", "2 a", "join 3", "3 b", "2 c", "1 batch"));
  EXPECT_EQ(recorder_.links[1]->aggregator(), aggregator_);
  EXPECT_EQ(recorder_.links[0]->aggregator(), 0u);
}

// Otherwise, the next batch would be accepted before the messages of this one are handled.
TEST_F(RelayedAgentsTest, OnlyTheAggregatorsOwnLinkConsumesABatch) {
  agents_.Message(aggregator_, From({{7, Says("a")}}));
  recorder_.links[1]->Consumed();
  EXPECT_EQ(link_->consumed, 0);
  recorder_.links[0]->Consumed();
  EXPECT_EQ(link_->consumed, 1);
}

TEST_F(RelayedAgentsTest, AddressesRelayedAgentByTheAggregatorsNumber) {
  agents_.Message(aggregator_, From({{7, Says("a")}}));
  rpc::CollectorMessage request;
  request.mutable_snapshot()->set_request(5);
  recorder_.links[1]->Send(request);
  recorder_.links[1]->Refuse("no");
  ASSERT_EQ(link_->sent.size(), 2u);
  EXPECT_EQ(link_->sent[0].to_agent().agent(), 7u);
  EXPECT_EQ(link_->sent[0].to_agent().message().snapshot().request(), 5u);
  EXPECT_FALSE(link_->sent[1].to_agent().has_message());
  EXPECT_EQ(link_->sent[1].to_agent().refusal(), "no");
}

TEST_F(RelayedAgentsTest, ReportsLeaveOnlyForAgentsThatJoined) {
  agents_.Message(aggregator_, From({{7, Says("a")}, {7, {}}, {8, {}}}));
  EXPECT_THAT(recorder_.said, ElementsAre("join 1", "join 2", "2 a", "leave 2", "1 batch"));
}

TEST_F(RelayedAgentsTest, AgentsLeaveWithTheirAggregator) {
  agents_.Message(aggregator_, From({{7, Says("a")}, {9, Says("b")}}));
  recorder_.said.clear();
  agents_.Leave(aggregator_);
  EXPECT_THAT(recorder_.said, ElementsAre("leave 2", "leave 3", "leave 1"));
  recorder_.said.clear();
  agents_.Message(aggregator_, From({{7, Says("late")}}));
  EXPECT_THAT(recorder_.said, ElementsAre());
}

TEST_F(RelayedAgentsTest, LimitsAgentsOfAnAggregator) {
  for (uint64_t agent = 1; agent <= RelayedAgents::kMaxAgents + 5; ++agent) {
    agents_.Message(aggregator_, From({{agent, Says("a")}}));
  }
  EXPECT_EQ(recorder_.links.size(), 1 + RelayedAgents::kMaxAgents);
}

// A monitor's report on three ranks with an agent each; rank 2 never enters the barrier. The agent
// of rank 0 may be the aggregator of the others.
std::string Verdict(bool through_aggregator) {
  Monitor monitor{MonitorOptions{}};
  RelayedAgents agents(&monitor);
  const auto link = std::make_shared<FakeLink>();
  const uint64_t first = agents.Join(link);
  std::vector<uint64_t> numbers = {first};
  for (uint64_t number : {1, 2}) {
    numbers.push_back(through_aggregator ? number : agents.Join(std::make_shared<FakeLink>()));
  }
  const auto say = [&](size_t rank, const rpc::AgentMessage& message) {
    const bool relayed = through_aggregator && rank != 0;
    agents.Message(relayed ? first : numbers[rank],
                   relayed ? From({{numbers[rank], message}}) : message);
  };
  std::vector<std::vector<uint8_t>> rings;
  for (const int32_t rank : {0, 1, 2}) {
    rings.push_back(RingInBarrier(rank, rank != 2, 3));
    rpc::AgentMessage hello = Hello();
    hello.mutable_hello()->set_agent_id(numbers.size() + static_cast<uint64_t>(rank));
    say(static_cast<size_t>(rank), hello);
    say(static_cast<size_t>(rank), WaitingDigest(IdOf(rings.back()), 3));
  }
  auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
  uint64_t answered = 0;
  while (finished.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    const uint64_t request = link->WaitForSnapshotRequest(answered);
    if (request == 0) break;
    answered = request;
    for (size_t rank = 0; rank < rings.size(); ++rank) {
      say(rank, Snapshot(request, IdOf(rings[rank]), rings[rank], /*alive=*/false));
      say(rank, LastSnapshot(request));
    }
    finished.wait_for(std::chrono::milliseconds(200));
  }
  const Monitor::Final final = finished.get();
  return ToText(ReportToJson(final.trace, final.report));
}

TEST(AggregatorTest, GivesTheSameVerdictAsDirectlyAttachedAgents) {
  const std::string verdict = Verdict(/*through_aggregator=*/true);
  EXPECT_THAT(verdict, ::testing::HasSubstr("rank 2 is outside every call"));
  EXPECT_EQ(verdict, Verdict(/*through_aggregator=*/false));
}

}  // namespace
}  // namespace rollcall::service
