// SPDX-License-Identifier: Apache-2.0
// Decides which agents connect to the collector and which to an aggregator.
#ifndef ROLLCALL_COLLECTOR_SERVICE_AGGREGATOR_TREE_H_
#define ROLLCALL_COLLECTOR_SERVICE_AGGREGATOR_TREE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rollcall::service {

// If more than `max_direct` agents attach to the collector itself, some of them are asked to be
// aggregators, and others to attach to an aggregator. A job of fewer nodes has no aggregator. A
// pure state machine, not thread-safe.
class AggregatorTree {
 public:
  // The most agents of one aggregator.
  static constexpr size_t kFanOut = 64;

  explicit AggregatorTree(size_t max_direct) : max_direct_(max_direct) {}

  struct Agent {
    uint64_t id = 0;          // its own; 0: it has none
    uint64_t aggregator = 0;  // number of the aggregator through which it is connected; 0: none
    bool can_aggregate = false;
    bool keeps_direct = false;
  };
  // An agent has sent its Hello. Agents are identified by the number of their connection.
  void Add(uint64_t number, const Agent& agent);
  // The agent has left, or another one has taken its place.
  void Remove(uint64_t number);
  // The agent with that id is given up: aggregators no longer reserve a place for it.
  void GiveUp(uint64_t id) { Release({.id = id}); }
  // The agent serves others at `address`; an empty address means that it cannot.
  void OnAggregator(uint64_t number, const std::string& address);

  struct Order {
    uint64_t agent = 0;
    std::string parent;  // connect to that address; empty: become an aggregator
  };
  // The number of agents that connect to an aggregator.
  size_t relayed() const { return agents_.size() - direct_; }
  // The orders to send now. Each is returned once.
  std::vector<Order> TakeOrders();

 private:
  struct Aggregator {
    std::string address;          // empty: it has been asked
    std::set<uint64_t> assigned;  // ids of agents that are on their way to it
    size_t attached = 0;
    size_t missed = 0;  // agents in a row that could not reach it
    bool open() const { return !address.empty() && load() < kFanOut && missed < kMaxMissed; }
    size_t load() const { return assigned.size() + attached; }
  };

  // An aggregator that this many agents in a row cannot reach gets no further agents.
  static constexpr size_t kMaxMissed = 3;

  size_t DirectCount() const { return direct_ - leaving_.size(); }
  // An aggregator with a free place; 0: none.
  uint64_t Free() const;
  // The agent is connected again, or at its new place: its reservation ends.
  void Release(const Agent& agent);

  const size_t max_direct_;
  std::map<uint64_t, Agent> agents_;
  size_t direct_ = 0;           // of them
  std::set<uint64_t> movable_;  // direct agents that may be sent to an aggregator
  std::set<uint64_t> leaving_;  // direct agents that were sent to an aggregator
  std::map<uint64_t, Aggregator> aggregators_;
  std::map<uint64_t, uint64_t> assigned_;  // aggregator by agent id
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_AGGREGATOR_TREE_H_
