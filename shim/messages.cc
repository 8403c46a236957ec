// SPDX-License-Identifier: Apache-2.0
#include "shim/messages.h"

#include <atomic>

#include "shim/handle_map.h"

namespace rollcall::shim {
namespace {

// Few messages are between probe and receive at a time. If there is no room for a message, its
// communicator is unknown at the receive.
constexpr uint32_t kMessages = 1024;
struct Place {
  std::atomic<bool> taken;
  uint32_t comm_uid;
  MatchedMessage message;
};
constinit Place g_places[kMessages] = {};
constinit HandleMap<2048> g_by_handle;

}  // namespace

void StoreMessage(const Library& library, uint64_t handle, const MatchedMessage& message) {
  if (handle == library.abi.message_null || handle == library.abi.message_no_proc) return;
  const auto start = static_cast<uint32_t>((handle * 0x9e3779b97f4a7c15) >> 40);
  for (uint32_t i = 0; i < kMessages; ++i) {
    Place& place = g_places[(start + i) % kMessages];
    if (place.taken.load(std::memory_order_relaxed) || place.taken.exchange(true)) continue;
    place.message = message;
    place.comm_uid = message.comm != nullptr ? message.comm->uid : 0;
    if (!g_by_handle.Insert(handle, (start + i) % kMessages)) place.taken.store(false);
    return;
  }
}

MatchedMessage TakeMessage(const Library& library, uint64_t handle) {
  MatchedMessage message{nullptr, ring::kNoPeer, ring::kNoTag};
  if (handle == library.abi.message_no_proc) message.peer = ring::kProcNullPeer;
  const uint32_t index = g_by_handle.Erase(handle);
  if (index >= kMessages) return message;
  Place& place = g_places[index];
  message = place.message;
  if (message.comm != nullptr && message.comm->uid != place.comm_uid) message.comm = nullptr;
  place.taken.store(false, std::memory_order_release);
  return message;
}

}  // namespace rollcall::shim
