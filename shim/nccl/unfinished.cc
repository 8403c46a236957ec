// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/unfinished.h"

#include <atomic>

#include "shim/comms.h"
#include "shim/spin_lock.h"

namespace rollcall::shim::nccl {
namespace {

constexpr uint32_t kMax = 64;

struct AwaitedCreation {
  Pending pending;
  uint64_t handle = 0;
  bool used = false;
};
struct AwaitedLaunch {
  uint32_t uid = 0;  // 0: free
  uint64_t launch = 0;
};

constinit AwaitedCreation g_creations[kMax];
constinit AwaitedLaunch g_launches[kMax];
// Number of used entries of both tables. Also read without the lock, to test whether there are any.
std::atomic<uint32_t> g_used{0};
// A launch for which the table had no room; 0: none. From this launch on, a host's waits prove
// nothing. This is rare and safe.
std::atomic<uint64_t> g_lost_launch{0};
constinit SpinLock g_lock;

// True if a query with `handle` is about this creation. The application may query a split by the
// new communicator or by the parent.
bool IsAbout(const AwaitedCreation& awaited, uint64_t handle) {
  const Comm* parent = awaited.pending.creation.parent;
  return awaited.handle == handle || (parent != nullptr && parent->handle == handle);
}

// Takes one creation that belongs to the handle; false if there is none left.
bool TakeCreation(uint64_t handle, AwaitedCreation* taken) {
  const SpinGuard guard(g_lock);
  for (AwaitedCreation& awaited : g_creations) {
    if (!awaited.used || !IsAbout(awaited, handle)) continue;
    *taken = awaited;
    awaited.used = false;
    g_used.fetch_sub(1, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace

bool AwaitCreation(const Pending& pending, uint64_t handle) {
  const SpinGuard guard(g_lock);
  for (AwaitedCreation& awaited : g_creations) {
    if (awaited.used) continue;
    awaited = {pending, handle, true};
    g_used.fetch_add(1, std::memory_order_release);
    return true;
  }
  return false;
}

void AwaitLaunch(uint32_t uid, uint64_t launch) {
  const SpinGuard guard(g_lock);
  AwaitedLaunch* room = nullptr;
  for (AwaitedLaunch& awaited : g_launches) {
    if (awaited.uid == uid) return;  // an older launch, which covers this one as well
    if (awaited.uid == 0 && room == nullptr) room = &awaited;
  }
  if (room == nullptr) {
    g_lost_launch.store(launch, std::memory_order_relaxed);
    return;
  }
  *room = {uid, launch};
  g_used.fetch_add(1, std::memory_order_release);
}

void RemoveAwaited(uint32_t uid) {
  if (g_used.load(std::memory_order_acquire) == 0) return;
  const SpinGuard guard(g_lock);
  for (AwaitedCreation& awaited : g_creations) {
    if (!awaited.used || awaited.pending.comm == nullptr || awaited.pending.comm->uid != uid) {
      continue;
    }
    awaited.used = false;
    g_used.fetch_sub(1, std::memory_order_release);
  }
  for (AwaitedLaunch& awaited : g_launches) {
    if (awaited.uid != uid) continue;
    awaited.uid = 0;
    g_used.fetch_sub(1, std::memory_order_release);
  }
}

void OnSettled(uint64_t handle, bool failed,
               void (*settle)(const Pending&, uint64_t handle, bool failed)) {
  if (g_used.load(std::memory_order_acquire) == 0) return;
  AwaitedCreation taken;
  while (TakeCreation(handle, &taken)) settle(taken.pending, taken.handle, failed);
  const Comm* comm = FindByHandle(handle);
  if (comm != nullptr) RemoveAwaited(comm->uid);
}

uint64_t KnownLaunched(uint64_t launch) {
  const uint64_t lost = g_lost_launch.load(std::memory_order_relaxed);
  if (lost != 0 && lost <= launch) launch = lost - 1;
  if (g_used.load(std::memory_order_acquire) == 0) return launch;
  const SpinGuard guard(g_lock);
  for (const AwaitedLaunch& awaited : g_launches) {
    if (awaited.uid != 0 && awaited.launch <= launch) launch = awaited.launch - 1;
  }
  return launch;
}

}  // namespace rollcall::shim::nccl
