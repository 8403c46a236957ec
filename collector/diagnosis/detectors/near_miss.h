// SPDX-License-Identifier: Apache-2.0
// Messages that were sent, never received, and resemble a message that a rank waits for.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_NEAR_MISS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_NEAR_MISS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/diagnosis/graph/analysis.h"

namespace rollcall {

struct NearMiss {
  uint32_t other = kNoIndex;  // the process that sent it, or that posted the receive
  uint32_t communicator = kNoIndex;
  int32_t tag = 0;
  bool freed = false;  // a posted receive whose request was freed or cancelled, and took nothing
};

// The message that differs in one respect (tag, communicator or sender) from the message that
// `waiter` waits for in `call`. Empty if several messages differ in different ways: they may all be
// for later receives.
std::optional<NearMiss> FindNearMiss(const Analysis& analysis, uint32_t waiter, const Event& call);

// The posted receive that is most similar to the receive that `waiter` waits for in the send
// `call`.
std::optional<NearMiss> FindNearReceive(const Analysis& analysis, uint32_t waiter,
                                        const Event& call);

// A message that a probe found and another thread then received.
struct StolenMessage {
  const Event* probe = nullptr;
  const Event* receive = nullptr;
};

// The message that a probe right before the receive `call` of `waiter` may have found, and that
// another thread received. Empty if there is none.
std::optional<StolenMessage> FindStolenMessage(const Analysis& analysis, uint32_t waiter,
                                               const Event& call);

// A receive from any source that took a message of the rank that `waiter` waits for in `call`: more
// messages were received from the rank than receives named the rank. nullptr if there is none.
const Event* FindGreedyReceive(const Analysis& analysis, uint32_t waiter, const Event& call);

// Whether process `from` certainly sent a message with the tag that no receive of `to` takes.
bool IsLeftOver(const Analysis& analysis, uint32_t communicator, uint32_t from, uint32_t to,
                int32_t tag);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_NEAR_MISS_H_
