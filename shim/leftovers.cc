// SPDX-License-Identifier: Apache-2.0
#include "shim/leftovers.h"

#include <algorithm>

#include "shim/handle_map.h"
#include "shim/platform.h"
#include "shim/spin_lock.h"

namespace rollcall::shim {
namespace {

// Counts the live objects that one operation created at one call path.
struct Site {
  uint32_t call_path;
  uint16_t operation;  // 0: the cell is empty
  bool at_least;
  uint64_t live;
  uint64_t taken;  // how many of the live objects are in the ring already
};
constexpr uint32_t kSites = 1024;
constinit Site g_sites[kSites] = {};
constexpr uint32_t kNoSite = kSites - 1;  // never used

// The value of a handle's cell: the site that created it, and how many times it was returned.
constexpr uint32_t kSiteBits = 10;
static_assert(1u << kSiteBits == kSites);
constexpr uint32_t kMaxTimes = (1u << (32 - kSiteBits)) - 1;
constexpr uint32_t CellOf(uint32_t site, uint32_t times) { return times << kSiteBits | site; }
constexpr uint32_t SiteOf(uint32_t cell) { return cell & (kSites - 1); }
constexpr uint32_t TimesOf(uint32_t cell) { return cell >> kSiteBits; }

constinit HandleMap<16384> g_by_handle;
constexpr uint32_t kMissing = HandleMap<16384>::kMissing;

constinit SpinLock g_lock;

// True for predefined handles, which need not be freed. MPICH marks them in the upper two bits (0:
// none, 1: built in). The constants of the standard ABI are small numbers. Open MPI's are addresses
// of objects.
bool IsPredefined(const Library& library, uint64_t handle) {
  switch (library.abi.flavor) {
    case ring::Flavor::kMpich:
      return handle >> 30 < 2;
    case ring::Flavor::kOpenMpi:
      return handle == 0 || handle == library.abi.group_null || handle == library.abi.group_empty;
    default:
      return handle < 4096;
  }
}

// True if the library counts references: many calls return one handle, and each has to be freed.
bool IsReferenceCounted(Operation operation) {
  return operation >= Operation::kComm_group && operation <= Operation::kGroup_from_session_pset;
}

// Finds or makes the site. If there is no room for another call path, returns a site for the
// operation without a call path.
uint32_t FindSite(uint16_t operation, uint32_t call_path) {
  const auto start = static_cast<uint32_t>(Mix64(operation, call_path) % kNoSite);
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t at = (start + i) % kNoSite;
    Site& site = g_sites[at];
    if (site.operation == 0) {
      site.operation = operation;
      site.call_path = call_path;
    }
    if (site.operation == operation && site.call_path == call_path) return at;
  }
  return call_path != 0 ? FindSite(operation, 0) : kNoSite;
}

void Remove(uint32_t cell, uint32_t times) {
  Site& site = g_sites[SiteOf(cell)];
  site.live -= times;
  if (site.taken > site.live) site.taken = site.live;
}

}  // namespace

void HandleCreated(const Library& library, uint64_t handle, Operation operation,
                   uint32_t call_path) {
  if (IsPredefined(library, handle)) return;
  const uint64_t key = library.KeyOf(handle);
  const SpinGuard guard(g_lock);
  uint32_t site = FindSite(static_cast<uint16_t>(operation), call_path);
  uint32_t times = 1;
  const uint32_t known = g_by_handle.Find(key);
  // The object is counted again below. If it is not reference-counted, its free was not seen.
  if (known != kMissing) Remove(known, TimesOf(known));
  if (known != kMissing && IsReferenceCounted(operation)) {
    times = TimesOf(known) < kMaxTimes ? TimesOf(known) + 1 : kMaxTimes;
    // If two call paths got this handle, it is unknown to which call path a free belongs.
    if (SiteOf(known) != site) site = FindSite(static_cast<uint16_t>(operation), 0);
  }
  if (g_by_handle.Insert(key, CellOf(site, times))) {
    g_sites[site].live += times;
  } else {
    g_sites[site].at_least = true;
  }
}

uint32_t HandleFreed(const Library& library, uint64_t handle) {
  const uint64_t key = library.KeyOf(handle);
  const SpinGuard guard(g_lock);
  const uint32_t known = g_by_handle.Find(key);
  if (known == kMissing) return kMissing;
  Remove(known, 1);
  if (TimesOf(known) > 1) {
    g_by_handle.Insert(key, CellOf(SiteOf(known), TimesOf(known) - 1));
  } else {
    g_by_handle.EraseAndCompact(key);
  }
  return SiteOf(known);
}

void UndoHandleFreed(const Library& library, uint64_t handle, uint32_t freed) {
  if (freed >= kSites) return;
  const uint64_t key = library.KeyOf(handle);
  const SpinGuard guard(g_lock);
  const uint32_t known = g_by_handle.Find(key);
  const uint32_t site = known == kMissing ? freed : SiteOf(known);
  const uint32_t times = known == kMissing ? 1 : TimesOf(known) + 1;
  if (g_by_handle.Insert(key, CellOf(site, times))) ++g_sites[site].live;
}

uint32_t TakeLeftovers(Leftover (&rows)[kMaxLeftovers], uint32_t most) {
  const SpinGuard guard(g_lock);
  uint32_t count = 0;
  for (uint32_t i = 0; i < kNoSite; ++i) {
    Site& site = g_sites[i];
    if (site.live == site.taken) continue;
    const auto operation = static_cast<Operation>(site.operation);
    Leftover* row = nullptr;
    if (count < std::min(most, kMaxLeftovers)) {
      row = &rows[count++];
      *row = {operation, site.call_path, 0, false};
    } else {
      for (uint32_t k = 0; k < count; ++k) {
        if (rows[k].operation == operation) row = &rows[k];
      }
      if (row != nullptr) row->call_path = 0;
    }
    if (row != nullptr) {
      row->count += site.live - site.taken;
      row->at_least |= site.at_least;
    }
    site.taken = site.live;
  }
  return count;
}

}  // namespace rollcall::shim
