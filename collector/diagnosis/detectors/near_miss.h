// Messages that were sent, never received, and resemble one that a rank waits for.
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
};

// The message that differs from the one that `waiter` waits for in `call` in one respect: tag,
// communicator or sender. Empty if several messages differ in different ways: they may all be for
// later receives.
std::optional<NearMiss> FindNearMiss(const Analysis& analysis, uint32_t waiter, const Event& call);

// The posted receive that is most similar to the one that `waiter` waits for in the send `call`.
std::optional<NearMiss> FindNearReceive(const Analysis& analysis, uint32_t waiter,
                                        const Event& call);

// For ranks that wait for each other's messages in a ring: returns the ranks whose awaited message
// was sent with another tag than they wait for. This is the cause of the ring. Empty if that is not
// certain: a message with another tag may also be received later.
std::vector<uint32_t> ThoseWithAnotherTag(const Analysis& analysis,
                                          const std::vector<uint32_t>& ring);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_NEAR_MISS_H_
