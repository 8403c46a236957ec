// What the program says that it does: the text of rollcall_phase() (proto/rollcall.h) in the ring.
#ifndef ROLLCALL_SHIM_USER_PHASE_H_
#define ROLLCALL_SHIM_USER_PHASE_H_

namespace rollcall::shim {

// Stores a copy of `text`, cut between characters; nullptr and "" clear it. Before the ring exists,
// the text is kept for PublishUserPhase(). Of two concurrent calls, one may be ignored: nobody
// waits. A forked or vforked child does not change its parent's ring. Any thread;
// async-signal-safe; keeps errno; allocates nothing.
void SetUserPhase(const char* text);

// Writes the text that was set before the ring existed. Called once by Start().
void PublishUserPhase();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_USER_PHASE_H_
