// SPDX-License-Identifier: Apache-2.0
// Numbers of messages: the rank that a peer's number means, and sums over tags.
#ifndef ROLLCALL_COLLECTOR_MODEL_MESSAGE_COUNTS_H_
#define ROLLCALL_COLLECTOR_MODEL_MESSAGE_COUNTS_H_

#include <cstdint>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// The world ranks that a member with the world rank `rank` addresses as 0, 1, …; on an
// intercommunicator the ranks of the other group. Refers to the communicator.
const std::vector<int32_t>& PeerRanks(const Communicator& communicator, int32_t rank);

// The sums of channels, by increasing member and peer. Complete if all messages are counted in
// channels.
std::vector<PeerCount> SumByPeer(const std::vector<Channel>& channels);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_MESSAGE_COUNTS_H_
