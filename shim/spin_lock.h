// A lock for short, rare sections. Waiting makes no system call.
//
// Any thread. Constant-initialised; allocates nothing. A signal handler may only try: if it
// interrupted the holder, SpinGuard would wait for ever. Sections under a SpinGuard are therefore
// parts of MPI and NCCL calls, which are not async-signal-safe themselves. In a forked child, a
// lock that another thread held stays held; calls of a child that does not record (Recording())
// reach only library.cc's.
#ifndef ROLLCALL_SHIM_SPIN_LOCK_H_
#define ROLLCALL_SHIM_SPIN_LOCK_H_

#include <atomic>

namespace rollcall::shim {

class SpinLock {
 public:
  // Does not wait. True if the caller holds the lock now.
  bool TryLock() { return !held_.test_and_set(std::memory_order_acquire); }
  void Unlock() { held_.clear(std::memory_order_release); }

 private:
  std::atomic_flag held_ = ATOMIC_FLAG_INIT;
};

// Waits for the lock and holds it until the end of the scope.
class SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) : lock_(lock) {
    while (!lock_.TryLock()) {
    }
  }
  ~SpinGuard() { lock_.Unlock(); }
  SpinGuard(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_SPIN_LOCK_H_
