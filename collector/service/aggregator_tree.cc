// SPDX-License-Identifier: Apache-2.0
#include "collector/service/aggregator_tree.h"

#include <algorithm>

#include "collector/base/find.h"

namespace rollcall::service {

void AggregatorTree::Add(uint64_t number, const Agent& agent) {
  Remove(number);
  Release(agent);
  agents_[number] = agent;
  if (agent.aggregator != 0) {
    Aggregator* aggregator = FindOrNull(aggregators_, agent.aggregator);
    if (aggregator == nullptr) return;
    ++aggregator->attached;
    aggregator->missed = 0;
    return;
  }
  ++direct_;
  // An agent that does not support aggregators would ignore the order.
  if (agent.can_aggregate && !agent.keeps_direct && agent.id != 0) movable_.insert(number);
}

void AggregatorTree::Remove(uint64_t number) {
  const auto agent = agents_.extract(number);
  if (agent.empty()) return;
  if (const auto own = aggregators_.extract(number); !own.empty()) {
    for (const uint64_t id : own.mapped().assigned) assigned_.erase(id);
  }
  if (agent.mapped().aggregator != 0) {
    const auto aggregator = aggregators_.find(agent.mapped().aggregator);
    if (aggregator != aggregators_.end()) --aggregator->second.attached;
    return;
  }
  --direct_;
  movable_.erase(number);
  leaving_.erase(number);
}

void AggregatorTree::Release(const Agent& agent) {
  const auto assigned = assigned_.extract(agent.id);
  if (assigned.empty()) return;
  const auto aggregator = aggregators_.find(assigned.mapped());
  if (aggregator == aggregators_.end()) return;
  aggregator->second.assigned.erase(agent.id);
  if (agent.keeps_direct) ++aggregator->second.missed;
}

void AggregatorTree::OnAggregator(uint64_t number, const std::string& address) {
  const auto aggregator = aggregators_.find(number);
  if (aggregator == aggregators_.end()) return;
  if (!address.empty()) {
    aggregator->second.address = address;
    return;
  }
  aggregators_.erase(aggregator);
  agents_[number].can_aggregate = false;
  movable_.insert(number);
}

uint64_t AggregatorTree::Free() const {
  for (const auto& [number, aggregator] : aggregators_) {
    if (aggregator.open()) return number;
  }
  return 0;
}

std::vector<AggregatorTree::Order> AggregatorTree::TakeOrders() {
  std::vector<Order> orders;
  while (DirectCount() > max_direct_ && !movable_.empty()) {
    const uint64_t free = Free();
    if (free == 0) break;
    const uint64_t number = movable_.extract(movable_.begin()).value();
    Aggregator& aggregator = aggregators_[free];
    const uint64_t id = agents_[number].id;
    Release({.id = id});
    aggregator.assigned.insert(id);
    assigned_[id] = free;
    leaving_.insert(number);
    orders.push_back({number, aggregator.address});
  }
  const auto asked = static_cast<size_t>(std::ranges::count_if(
      aggregators_, [](const auto& entry) { return entry.second.address.empty(); }));
  size_t excess = DirectCount() > max_direct_ ? DirectCount() - max_direct_ : 0;
  excess -= std::min(excess, asked * kFanOut);
  for (auto next = movable_.begin(); excess != 0 && next != movable_.end();) {
    const uint64_t number = *next;
    if (!agents_[number].can_aggregate) {
      ++next;
      continue;
    }
    next = movable_.erase(next);
    aggregators_[number];
    orders.push_back({number, {}});
    excess -= std::min(excess, kFanOut);
  }
  return orders;
}

}  // namespace rollcall::service
