// SPDX-License-Identifier: Apache-2.0
#include "collector/service/agent_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "collector/import/journal.h"

namespace rollcall::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kReplaced[] = "another agent took its place";

class RefusedLink : public AgentLink {
 public:
  explicit RefusedLink(std::string* why) : why_(why) {}
  void Send(const rpc::CollectorMessage& /*message*/) override {}
  void Consumed() override {}
  void Refuse(const std::string& why) override { *why_ = why; }

 private:
  std::string* const why_;
};

class AgentTableTest : public ::testing::Test {
 protected:
  // Joins an agent under the next number and handles its greeting. Returns those that it replaces.
  std::vector<uint64_t> AcceptHello(const rpc::Hello& hello, int64_t now_ns = 0) {
    ++number_;
    table_.Join(number_, std::make_shared<RefusedLink>(&refused_[number_]), now_ns);
    return table_.AcceptHello(number_, hello);
  }

  static rpc::Hello Hello(const std::string& host, uint64_t id = 0, uint32_t pid = 1) {
    rpc::Hello hello;
    hello.set_protocol(1);
    hello.set_host(host);
    hello.set_agent_id(id);
    hello.set_pid(pid);
    return hello;
  }

  static constexpr uint64_t kMaxHeld = uint64_t{4} << 20;  // 1 MiB of it for journals
  AgentTable table_{kMaxHeld};
  uint64_t number_ = 0;
  std::map<uint64_t, std::string> refused_;  // reason, by number
};

TEST_F(AgentTableTest, RefusesAnotherProtocol) {
  rpc::Hello hello = Hello("a");
  hello.set_protocol(2);
  EXPECT_THAT(AcceptHello(hello), IsEmpty());
  EXPECT_EQ(refused_[1], "protocol 2 is not supported; this collector supports 1");
  EXPECT_EQ(table_.FindConnected(1), nullptr);
}

// Containers may all be called localhost and have the same run directory path.
TEST_F(AgentTableTest, AcceptsTwoAgentsOfOnePlaceWithDifferentIds) {
  EXPECT_THAT(AcceptHello(Hello("localhost", 7)), IsEmpty());
  EXPECT_THAT(AcceptHello(Hello("localhost", 8)), IsEmpty());
  EXPECT_EQ(table_.connected(), 2u);
}

TEST_F(AgentTableTest, ReconnectingAgentReplacesItsOldConnection) {
  AcceptHello(Hello("localhost", 7));
  AcceptHello(Hello("localhost", 8));
  EXPECT_THAT(AcceptHello(Hello("localhost", 7)), ElementsAre(1));
  EXPECT_EQ(refused_[1], kReplaced);
  EXPECT_EQ(table_.Find(1), nullptr);
  EXPECT_EQ(table_.connected(), 2u);
}

TEST_F(AgentTableTest, NewAgentReplacesOneThatLeft) {
  AcceptHello(Hello("a", 7));
  table_.Find(1)->left = true;
  EXPECT_THAT(AcceptHello(Hello("a", 8)), ElementsAre(1));
  EXPECT_EQ(refused_[1], "") << "its connection is gone";
}

TEST_F(AgentTableTest, WithoutIdsReplacedAgentIsRefusedUntilItsSuccessorLeaves) {
  AcceptHello(Hello("a", 0, 100));
  EXPECT_THAT(AcceptHello(Hello("a", 0, 200)), ElementsAre(1));
  EXPECT_EQ(refused_[1], kReplaced);
  rpc::Hello again = Hello("a", 0, 100);
  again.set_resumed(true);
  EXPECT_THAT(AcceptHello(again), IsEmpty());
  EXPECT_EQ(refused_[3], kReplaced);
  EXPECT_NE(table_.FindConnected(2), nullptr);
  table_.Find(2)->left = true;
  EXPECT_THAT(AcceptHello(again), ElementsAre(2));
  EXPECT_NE(table_.FindConnected(4), nullptr);
}

TEST_F(AgentTableTest, SanitizesHostAndDirectory) {
  rpc::Hello hello = Hello("node\x1b[2J\nrollcall: no deadlock");
  hello.set_run_directory("/tmp\r\nx");
  AcceptHello(hello);
  for (const std::string& text : {table_.Find(1)->host, table_.Find(1)->run_directory}) {
    EXPECT_EQ(text.find_first_of("\x1b\r\n"), std::string::npos) << text;
  }
}

TEST_F(AgentTableTest, SilentAgentIsLostUntilItReturns) {
  AcceptHello(Hello("a", 1), 0);
  AcceptHello(Hello("b", 2), 50);
  const AgentTable::Agents lost = table_.TakeLost(101, 100);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost.begin()->second.host, "a");
  EXPECT_EQ(refused_[1], "silent for too long");
  EXPECT_THAT(table_.lost(), ElementsAre(AgentTable::Place("a", "")));
  AcceptHello(Hello("a", 1), 110);
  EXPECT_THAT(table_.lost(), IsEmpty());
}

TEST_F(AgentTableTest, ReportsJournalThatExceedsTheLimit) {
  AcceptHello(Hello("a", 1));
  Agent* agent = table_.Find(1);
  const std::string most(1 << 20, '\n');
  table_.AddJournal(agent, most);
  EXPECT_EQ(table_.bytes_for_rings(), kMaxHeld - most.size());
  table_.AddJournal(agent, "\n");
  EXPECT_TRUE(agent->cut);
  table_.AddEnvironment(agent, "{}");
  EXPECT_EQ(agent->environment, "") << "there is no room";
  const std::vector<Problem>& problems = table_.ReadJournals().at(1)->journal.problems;
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].message, "lines were dropped: the collector holds 4 MiB at most");
  EXPECT_EQ(problems[0].source, "a journal");
}

TEST_F(AgentTableTest, ReadsJournalAgainOnlyIfLinesWereAdded) {
  AcceptHello(Hello("a", 1));
  AcceptHello(Hello("b", 2));
  const std::string line = FormatJournalLine(journal::JobEnd{});
  for (const uint64_t number : {1, 2}) table_.AddJournal(table_.Find(number), line);
  const auto before = table_.ReadJournals();
  table_.AddJournal(table_.Find(2), line);
  const auto after = table_.ReadJournals();
  EXPECT_EQ(after.at(1), before.at(1));
  EXPECT_EQ(before.at(2)->journal.events.size(), 1u);
  EXPECT_EQ(after.at(2)->journal.events.size(), 2u);
  AcceptHello(Hello("b", 2));
  EXPECT_TRUE(table_.ReadJournals().at(3)->journal.events.empty());
}

TEST_F(AgentTableTest, FreesBytesOfARemovedAgent) {
  AcceptHello(Hello("a", 1));
  table_.AddJournal(table_.Find(1), std::string(1 << 19, '\n'));
  table_.AddEnvironment(table_.Find(1), "{}");
  AcceptHello(Hello("a", 1));
  EXPECT_EQ(table_.bytes_for_rings(), kMaxHeld);
  table_.AddJournal(table_.Find(2), "\n");
  table_.TakeLost(1, 0);
  EXPECT_EQ(table_.bytes_for_rings(), kMaxHeld);
}

TEST_F(AgentTableTest, FetchAllowanceOfANodeRecovers) {
  constexpr int64_t kSecond = 1'000'000'000;
  AcceptHello(Hello("a", 1));
  EXPECT_TRUE(table_.MayFetchWhileComputing(0));
  table_.Find(1)->allowance = -2 << 20;
  EXPECT_FALSE(table_.MayFetchWhileComputing(kSecond));
  EXPECT_TRUE(table_.MayFetchWhileComputing(3 * kSecond));
}

}  // namespace
}  // namespace rollcall::service
