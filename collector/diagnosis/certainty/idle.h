// SPDX-License-Identifier: Apache-2.0
// Ranks that have not arrived because they wait for the world outside the job: they may be idle.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_IDLE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_IDLE_H_

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// Whether all lagging ranks may be idle: each waits for the world outside the job (OutsideWait),
// for less than DiagnoseOptions::idle_after_ns. A listening socket counts only if every other rank
// of the world waits in a call, so that none is about to connect to it. False if the other ranks
// have not made the same number of calls on each of their communicators: they have diverged,
// whatever the idle ranks do. Also false if a hang was reported before the job ended.
bool MayBeIdle(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_IDLE_H_
