// SPDX-License-Identifier: Apache-2.0
// A lock for short, rare sections. Waiting makes no system call.
//
// Any thread. Constant-initialised; allocates nothing. A signal handler may only use TryLock: if it
// interrupted the holder, SpinGuard would wait for ever. SpinGuard is therefore used only in calls
// of MPI, NCCL, PyTorch and rollcall_replica(), which are not async-signal-safe. In a forked child,
// a lock that another thread held stays held. A child does not record (Recording()), so its calls
// reach only the lock of library.cc.
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
