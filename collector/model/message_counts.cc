// SPDX-License-Identifier: Apache-2.0
#include "collector/model/message_counts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rollcall {

const std::vector<int32_t>& PeerRanks(const Communicator& communicator, int32_t rank) {
  const std::vector<int32_t>& ranks = communicator.ranks;
  if (communicator.remote_ranks.empty()) return ranks;
  const bool local = std::ranges::find(ranks, rank) != ranks.end();
  return local ? communicator.remote_ranks : ranks;
}

std::vector<PeerCount> SumByPeer(const std::vector<Channel>& channels) {
  std::map<std::pair<uint32_t, int32_t>, PeerCount> sums;
  for (const Channel& channel : channels) {
    if (channel.member == kNoIndex) continue;
    PeerCount& sum = sums[{channel.member, channel.peer}];
    sum.member = channel.member;
    sum.peer = channel.peer;
    sum.sent += channel.sent;
    sum.received += channel.received;
    sum.receives_unseen |= channel.receives_unseen;
  }
  std::vector<PeerCount> all;
  all.reserve(sums.size());
  for (const auto& [key, sum] : sums) all.push_back(sum);
  return all;
}

}  // namespace rollcall
