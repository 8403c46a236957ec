// SPDX-License-Identifier: Apache-2.0
// The locks of a window that ranks hold, as their calls show.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WINDOW_LOCKS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WINDOW_LOCKS_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/analysis.h"

namespace rollcall {

struct WindowLock {
  uint32_t process = kNoIndex;
  int32_t target = 0;            // in the window; -1: all ranks
  const Event* event = nullptr;  // the call that locked

  bool Overlaps(const WindowLock& other) const {
    return target < 0 || other.target < 0 || target == other.target;
  }
};

// The locks whose calls returned and that were not unlocked. A library may return before it has the
// lock, and the records do not show whether a lock excludes others.
std::vector<WindowLock> LocksHeld(const Analysis& analysis, uint32_t window);

// The one rank whose lock the ranks in `waiting` wait for: it keeps the lock while it waits
// elsewhere, or it locks again. kNoIndex if there is no such rank, or more than one.
uint32_t HolderOf(const Analysis& analysis, uint32_t window, const std::vector<uint32_t>& waiting);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WINDOW_LOCKS_H_
