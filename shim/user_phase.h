// SPDX-License-Identifier: Apache-2.0
// The user's phase: the text of rollcall_phase() (proto/rollcall.h), stored in the ring.
#ifndef ROLLCALL_SHIM_USER_PHASE_H_
#define ROLLCALL_SHIM_USER_PHASE_H_

namespace rollcall::shim {

// Stores a copy of `text`, cut between characters; nullptr and "" clear it. If the ring does not
// exist yet, the text is kept for PublishUserPhase(). If two threads call concurrently, one call
// may be ignored, because no call waits. A forked or vforked child does not change its parent's
// ring. Any thread; async-signal-safe; keeps errno; allocates nothing.
void SetUserPhase(const char* text);

// Writes the text that was set before the ring existed. Called once by Start().
void PublishUserPhase();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_USER_PHASE_H_
