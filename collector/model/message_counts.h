// Numbers of messages: whom a peer's number means, and sums over tags.
#ifndef ROLLCALL_COLLECTOR_MODEL_MESSAGE_COUNTS_H_
#define ROLLCALL_COLLECTOR_MODEL_MESSAGE_COUNTS_H_

#include <cstdint>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// The world ranks that a member with the world rank `rank` addresses as 0, 1, …: those of the other
// group of an intercommunicator. Refers to the communicator.
const std::vector<int32_t>& PeerRanks(const Communicator& communicator, int32_t rank);

// The sums of channels, by increasing member and peer. Complete unless messages are counted in no
// channel.
std::vector<PeerCount> SumByPeer(const std::vector<Channel>& channels);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_MESSAGE_COUNTS_H_
