// SPDX-License-Identifier: Apache-2.0
#include "collector/service/aggregator_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::service {
namespace {

constexpr size_t kMaxDirect = 10;

// Agents that obey each order, on a new connection with a new number.
class AggregatorTreeTest : public ::testing::Test {
 protected:
  struct Place {
    uint64_t number = 0;
    uint64_t aggregator = 0;
    bool serves = false;
  };

  void Attach(uint64_t id, AggregatorTree::Agent agent = {.can_aggregate = true}) {
    agent.id = id;
    places_[id] = {.number = ++numbers_, .aggregator = agent.aggregator};
    tree_.Add(numbers_, agent);
  }
  void AttachMany(uint64_t count) {
    for (uint64_t id = 1; id <= count; ++id) Attach(id);
  }
  uint64_t IdOf(uint64_t number) const {
    return std::find_if(places_.begin(), places_.end(),
                        [&](const auto& place) { return place.second.number == number; })
        ->first;
  }
  void Obey(const AggregatorTree::Order& order) {
    const uint64_t id = IdOf(order.agent);
    if (order.parent.empty()) {
      places_[id].serves = true;
      tree_.OnAggregator(order.agent, "node:" + std::to_string(id));
      return;
    }
    const uint64_t parent = std::stoull(order.parent.substr(5));
    tree_.Remove(order.agent);
    Attach(id, {.aggregator = places_.at(parent).number, .can_aggregate = true});
  }
  // Obeys orders until there are none.
  void Settle() {
    for (int round = 0; round < 100; ++round) {
      const std::vector<AggregatorTree::Order> orders = tree_.TakeOrders();
      if (orders.empty()) return;
      for (const AggregatorTree::Order& order : orders) Obey(order);
    }
    FAIL() << "agents are told things for ever";
  }
  size_t Direct() const {
    return static_cast<size_t>(std::count_if(places_.begin(), places_.end(), [](const auto& place) {
      return place.second.aggregator == 0;
    }));
  }
  // The number of agents of each aggregator, by the number of its connection.
  std::map<uint64_t, size_t> Loads() const {
    std::map<uint64_t, size_t> loads;
    for (const auto& [id, place] : places_) {
      if (place.aggregator != 0) ++loads[place.aggregator];
    }
    return loads;
  }

  AggregatorTree tree_{kMaxDirect};
  std::map<uint64_t, Place> places_;  // by id
  uint64_t numbers_ = 0;
};

TEST_F(AggregatorTreeTest, GivesNoOrdersUpToTheLimitOfDirectAgents) {
  AttachMany(kMaxDirect);
  EXPECT_TRUE(tree_.TakeOrders().empty());
}

TEST_F(AggregatorTreeTest, AgentsBeyondTheLimitAttachToAggregators) {
  AttachMany(200);
  Settle();
  EXPECT_EQ(Direct(), kMaxDirect);
  size_t attached = 0;
  for (const auto& [aggregator, load] : Loads()) {
    EXPECT_LE(load, AggregatorTree::kFanOut);
    EXPECT_EQ(places_.at(IdOf(aggregator)).aggregator, 0u);
    attached += load;
  }
  EXPECT_EQ(attached, 200 - kMaxDirect);
  EXPECT_EQ(tree_.relayed(), attached);
}

// Large jobs start this way.
TEST_F(AggregatorTreeTest, SpreadsAgentsThatJoinOneByOne) {
  for (uint64_t id = 1; id <= 200; ++id) {
    Attach(id);
    Settle();
  }
  EXPECT_EQ(Direct(), kMaxDirect);
  EXPECT_EQ(Loads().size(), 3u);
}

TEST_F(AggregatorTreeTest, AsksOneAgentToServeAtATime) {
  AttachMany(kMaxDirect + 1);
  EXPECT_EQ(tree_.TakeOrders().size(), 1u);
  Attach(50);
  EXPECT_TRUE(tree_.TakeOrders().empty());
}

TEST_F(AggregatorTreeTest, AsksAnotherAgentIfOneCannotServe) {
  AttachMany(kMaxDirect + 1);
  const std::vector<AggregatorTree::Order> first = tree_.TakeOrders();
  ASSERT_EQ(first.size(), 1u);
  tree_.OnAggregator(first[0].agent, "");
  const std::vector<AggregatorTree::Order> second = tree_.TakeOrders();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second[0].agent, first[0].agent);
  Obey(second[0]);
  Settle();
  EXPECT_EQ(Direct(), kMaxDirect);
}

TEST_F(AggregatorTreeTest, AgentsWithoutAggregatorSupportStayDirect) {
  for (uint64_t id = 1; id <= 50; ++id) Attach(id, {.can_aggregate = false});
  EXPECT_TRUE(tree_.TakeOrders().empty());
}

TEST_F(AggregatorTreeTest, AgentThatReachedNoAggregatorGetsNoMoreOrders) {
  AttachMany(kMaxDirect + 1);
  for (const auto& order : tree_.TakeOrders()) Obey(order);
  const std::vector<AggregatorTree::Order> orders = tree_.TakeOrders();
  ASSERT_EQ(orders.size(), 1u);
  const uint64_t id = IdOf(orders[0].agent);
  tree_.Remove(orders[0].agent);
  Attach(id, {.can_aggregate = true, .keeps_direct = true});
  Settle();
  EXPECT_EQ(places_.at(id).aggregator, 0u);
  EXPECT_EQ(Direct(), kMaxDirect) << "another one attached instead";
}

TEST_F(AggregatorTreeTest, UnreachableAggregatorGetsNoMoreAgents) {
  AttachMany(200);
  uint64_t unreachable = 0;
  for (const auto& order : tree_.TakeOrders()) {
    if (unreachable == 0) unreachable = IdOf(order.agent);
    Obey(order);
  }
  size_t missed = 0;
  for (int round = 0; round < 100; ++round) {
    const std::vector<AggregatorTree::Order> orders = tree_.TakeOrders();
    for (const auto& order : orders) {
      if (order.parent != "node:" + std::to_string(unreachable)) {
        Obey(order);
        continue;
      }
      const uint64_t id = IdOf(order.agent);
      tree_.Remove(order.agent);
      Attach(id, {.can_aggregate = true, .keeps_direct = true});
      ++missed;
    }
    if (orders.empty()) break;
  }
  EXPECT_GT(missed, 0u);
  EXPECT_LE(missed, AggregatorTree::kFanOut) << "of those that were told at once";
  EXPECT_EQ(Direct(), std::max(kMaxDirect, missed + Loads().size() + 1));
}

TEST_F(AggregatorTreeTest, AgentsOfAnEndedAggregatorAttachToOthers) {
  AttachMany(200);
  Settle();
  const uint64_t ended = Loads().begin()->first;
  const uint64_t ended_id = IdOf(ended);
  tree_.Remove(ended);
  places_.erase(ended_id);
  std::vector<uint64_t> orphans;
  for (const auto& [id, place] : places_) {
    if (place.aggregator == ended) orphans.push_back(id);
  }
  for (const uint64_t id : orphans) {
    tree_.Remove(places_.at(id).number);
    Attach(id);
  }
  Settle();
  EXPECT_EQ(Direct(), kMaxDirect);
  for (const auto& [aggregator, load] : Loads()) EXPECT_LE(load, AggregatorTree::kFanOut);
}

TEST_F(AggregatorTreeTest, GivingUpAnAgentFreesItsPlace) {
  uint64_t id = kMaxDirect + AggregatorTree::kFanOut / 2;
  AttachMany(id);
  size_t aggregators = 0;
  for (int round = 0; round < 10; ++round) {
    for (const auto& order : tree_.TakeOrders()) {
      if (order.parent.empty()) {
        ++aggregators;
        Obey(order);
        continue;
      }
      const uint64_t lost = IdOf(order.agent);
      tree_.Remove(order.agent);
      places_.erase(lost);
      tree_.GiveUp(lost);
      Attach(++id);
    }
  }
  EXPECT_EQ(aggregators, 1u);
}

// A new connection may be added before the one that it replaces is removed.
TEST_F(AggregatorTreeTest, CountsAgentOnceIfItReconnectsBeforeTheOldConnectionEnds) {
  AttachMany(kMaxDirect + 1);
  for (const auto& order : tree_.TakeOrders()) Obey(order);
  const std::vector<AggregatorTree::Order> orders = tree_.TakeOrders();
  ASSERT_EQ(orders.size(), 1u);
  const uint64_t aggregator = places_.at(std::stoull(orders[0].parent.substr(5))).number;
  Attach(IdOf(orders[0].agent), {.aggregator = aggregator, .can_aggregate = true});
  tree_.Remove(orders[0].agent);
  for (uint64_t id = 100; id < 100 + AggregatorTree::kFanOut; ++id) Attach(id);
  Settle();
  EXPECT_EQ(Direct(), kMaxDirect);
  for (const auto& [number, load] : Loads()) EXPECT_LE(load, AggregatorTree::kFanOut);
}

}  // namespace
}  // namespace rollcall::service
