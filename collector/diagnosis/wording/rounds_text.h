// SPDX-License-Identifier: Apache-2.0
// The texts of findings about rounds of a loop that exchanges messages.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_ROUNDS_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_ROUNDS_TEXT_H_

#include <string>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// "rank 1 sent rank 0 412 messages with tag 3, and rank 0 waits for the 413th"
std::string RoundsText(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_ROUNDS_TEXT_H_
