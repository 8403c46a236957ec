// Which agents attach to the collector itself, and which to an aggregator.
#ifndef ROLLCALL_COLLECTOR_SERVICE_AGGREGATOR_TREE_H_
#define ROLLCALL_COLLECTOR_SERVICE_AGGREGATOR_TREE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rollcall::service {

// As long as more than `most_direct` agents attach to the collector itself, some of these are asked
// to be aggregators, and others to attach to one. A job of fewer nodes has no aggregator. A pure
// state machine, not thread-safe.
class AggregatorTree {
 public:
  // Agents of one aggregator.
  static constexpr size_t kFanOut = 64;

  explicit AggregatorTree(size_t most_direct) : most_direct_(most_direct) {}

  struct Agent {
    uint64_t id = 0;          // its own; 0: it has none
    uint64_t aggregator = 0;  // the number of the one that it comes through; 0: none
    bool can_aggregate = false;
    bool keeps_direct = false;
  };
  // An agent has introduced itself. Agents go by a number of their connection.
  void Add(uint64_t number, const Agent& agent);
  // It has left, or another one has taken its place.
  void Remove(uint64_t number);
  // The agent of that id is given up: no aggregator keeps a place for it.
  void GiveUp(uint64_t id) { Release({.id = id}); }
  // It serves others at `address`, or cannot if that is empty.
  void OnAggregator(uint64_t number, const std::string& address);

  struct Order {
    uint64_t agent = 0;
    std::string parent;  // attach to that one; empty: be an aggregator
  };
  // How many attach to an aggregator.
  size_t relayed() const { return agents_.size() - direct_; }
  // What agents should be told now, each once.
  std::vector<Order> TakeOrders();

 private:
  struct Aggregator {
    std::string address;      // empty: it has been asked
    std::set<uint64_t> told;  // ids of those that were told to attach to it and have not yet
    size_t attached = 0;
    size_t missed = 0;  // so many did not reach it, in a row
    bool open() const { return !address.empty() && load() < kFanOut && missed < kMostMissed; }
    size_t load() const { return told.size() + attached; }
  };

  // One that as many do not reach gets no more.
  static constexpr size_t kMostMissed = 3;

  size_t DirectCount() const { return direct_ - leaving_.size(); }
  // With room for another; 0: there is none.
  uint64_t Free() const;
  // An agent is back that was told to attach elsewhere, or is there.
  void Release(const Agent& agent);

  const size_t most_direct_;
  std::map<uint64_t, Agent> agents_;
  size_t direct_ = 0;           // of them
  std::set<uint64_t> movable_;  // direct ones that may be told to attach elsewhere
  std::set<uint64_t> leaving_;  // direct ones that were told to
  std::map<uint64_t, Aggregator> aggregators_;
  std::map<uint64_t, uint64_t> told_;  // by id, the aggregator
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_AGGREGATOR_TREE_H_
