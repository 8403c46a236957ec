// Messages that were sent, never received, and resemble one that somebody waits for.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_NEAR_MISS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_NEAR_MISS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/diagnosis/graph/analysis.h"

namespace rollcall {

struct NearMiss {
  uint32_t other = kNoIndex;  // a process: who sent it, or who has posted the receive
  uint32_t communicator = kNoIndex;
  int32_t tag = 0;
};

// The message that differs from the one that `waiter` waits for in `call` in one thing: its tag,
// its communicator or its sender. None where several do, in different ways: they may all be for
// later.
std::optional<NearMiss> FindNearMiss(const Analysis& analysis, uint32_t waiter, const Event& call);

// The posted receive most like the one that `waiter` waits for in the send `call`.
std::optional<NearMiss> FindNearReceive(const Analysis& analysis, uint32_t waiter,
                                        const Event& call);

// Ranks wait for each other's messages in a ring. Of them, those whose message went out, under
// another tag than they wait for: they are the cause, and the ring follows from it. Empty where
// that is not certain: a message of another tag may also be one that is received later.
std::vector<uint32_t> ThoseWithAnotherTag(const Analysis& analysis,
                                          const std::vector<uint32_t>& ring);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_NEAR_MISS_H_
