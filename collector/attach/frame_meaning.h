// SPDX-License-Identifier: Apache-2.0
// Derives from a stack what its thread does. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_FRAME_MEANING_H_
#define ROLLCALL_COLLECTOR_ATTACH_FRAME_MEANING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/place.h"
#include "collector/model/source_frame.h"
#include "proto/operations.h"

namespace rollcall::attach {

// `frames`: innermost first.
StackMeaning MeaningOf(const std::vector<const SourceFrame*>& frames);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_FRAME_MEANING_H_
