// SPDX-License-Identifier: Apache-2.0
// Shows by a stack whether a thread waits for Python's global interpreter lock.
#ifndef ROLLCALL_COLLECTOR_MATCHING_GIL_WAIT_H_
#define ROLLCALL_COLLECTOR_MATCHING_GIL_WAIT_H_

#include <cstddef>
#include <vector>

#include "collector/model/source_frame.h"

namespace rollcall {

// The index of the frame that waits for the lock, directly below the Python frames; -1 if there is
// none. `frames` are innermost first, without the interpreter's own frames. The interpreter waits
// for this lock, and for no other, by a timed wait for a condition variable.
ptrdiff_t GilFrame(const std::vector<const SourceFrame*>& frames);
// The same for a list of frames.
ptrdiff_t GilFrame(const std::vector<SourceFrame>& frames);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_GIL_WAIT_H_
