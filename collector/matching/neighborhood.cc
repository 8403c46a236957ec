// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/neighborhood.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace rollcall {
namespace {

using Edges = std::vector<std::pair<int32_t, int32_t>>;  // from, to

// With fewer edges, all may exist in both directions by chance.
constexpr size_t kMinMutualEdges = 4;

bool Has(const Edges& edges, int32_t from, int32_t to) {
  return std::ranges::binary_search(edges, std::pair(from, to));
}

Edges Without(const Edges& all, const Edges& some) {
  Edges result;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(result));
  return result;
}

Edges Both(const Edges& a, const Edges& b) {
  Edges result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

}  // namespace

std::vector<OddEdge> FindOddEdges(const Trace& trace, const Communicator& communicator) {
  if ((communicator.flags & (ring::kIsGraph | ring::kIsDistGraph)) == 0) return {};
  std::set<int32_t> known;
  for (const uint32_t m : communicator.members) {
    if (trace.members[m].neighbors_known) known.insert(trace.members[m].rank);
  }
  Edges by_sender;
  Edges by_receiver;
  for (const uint32_t m : communicator.members) {
    const Member& member = trace.members[m];
    if (!member.neighbors_known) continue;
    for (const int32_t to : member.neighbors_out) {
      if (known.contains(to)) by_sender.emplace_back(member.rank, to);
    }
    for (const int32_t from : member.neighbors_in) {
      if (known.contains(from)) by_receiver.emplace_back(from, member.rank);
    }
  }
  std::ranges::sort(by_sender);
  std::ranges::sort(by_receiver);
  const Edges agreed = Both(by_sender, by_receiver);
  const Edges by_sender_only = Without(by_sender, by_receiver);
  const Edges by_receiver_only = Without(by_receiver, by_sender);
  const auto is_odd = [&](int32_t from, int32_t to) {
    return Has(by_sender_only, from, to) || Has(by_receiver_only, from, to);
  };
  size_t mutual = 0;
  const bool symmetric = std::ranges::all_of(agreed, [&](const auto& edge) {
    const bool back = Has(agreed, edge.second, edge.first);
    mutual += back;
    return back || is_odd(edge.second, edge.first);
  });
  std::vector<OddEdge> edges;
  const auto add = [&](const Edges& odd, bool from_lists) {
    for (const auto& [from, to] : odd) {
      OddEdge& edge = edges.emplace_back(OddEdge{from, to, from_lists, std::nullopt});
      if (!symmetric || mutual < kMinMutualEdges || is_odd(to, from)) continue;
      edge.from_is_odd =
          from_lists != Has(agreed, to, from);  // an edge should exist if its reverse exists
    }
  };
  add(by_sender_only, true);
  add(by_receiver_only, false);
  return edges;
}

}  // namespace rollcall
