// SPDX-License-Identifier: Apache-2.0
#include "shim/comms.h"

namespace rollcall::shim {
namespace {

// history[i] holds the checkpoint of number (i+1)*stride. If all entries are used, every second one
// is dropped and the stride doubles.
ROLLCALL_COLD void HalveHistory(Comm* comm) {
  ring::Member* entry = comm->entry;
  for (uint32_t i = 0; i < ring::kHistoryCheckpoints / 2; ++i) {
    const ring::Checkpoint from = entry->history[2 * i + 1];
    SetCheckpoint(&entry->history[i], from.sequence, {from.semantic_hash, from.path_hash});
  }
  for (uint32_t i = ring::kHistoryCheckpoints / 2; i < ring::kHistoryCheckpoints; ++i) {
    StoreRelaxed(&entry->history[i].sequence, uint64_t{0});
  }
  StoreRelaxed(&entry->history_stride, entry->history_stride * 2);
  comm->checkpoint_mask = static_cast<uint32_t>(entry->history_stride - 1) & 3;
}

}  // namespace

void SetOlderCheckpoints(Comm* comm, uint64_t sequence, RollingHashes now) {
  ring::Member* entry = comm->entry;
  for (uint32_t k = 1;
       k < ring::kRecentCheckpoints && (sequence & ((uint64_t{1} << 2 * k) - 1)) == 0; ++k) {
    SetCheckpoint(&entry->recent[k], sequence, now);
  }
  // The stride is a power of two.
  if ((sequence & (entry->history_stride - 1)) == 0) {
    if (sequence / entry->history_stride > ring::kHistoryCheckpoints) HalveHistory(comm);
    if ((sequence & (entry->history_stride - 1)) == 0) {
      const uint64_t slot = sequence / entry->history_stride - 1;
      if (slot < ring::kHistoryCheckpoints) SetCheckpoint(&entry->history[slot], sequence, now);
    }
  }
}

// The checkpoints that the rejected call wrote have its number, which is now above `entered`.
// Readers skip these checkpoints, and the next call overwrites them.
ROLLCALL_COLD void ReleaseSequence(Comm* comm, uint64_t sequence, const RollingHashes& before) {
  ring::Member* entry = comm->entry;
  __atomic_fetch_add(&entry->rejected, 1, __ATOMIC_RELAXED);
  uint64_t last = sequence;
  if (__atomic_compare_exchange_n(&entry->entered, &last, sequence - 1, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
    comm->hashes = before;
  } else {
    // Another thread or an error handler has started a collective meanwhile: the order is
    // uncertain.
    __atomic_fetch_or(&entry->flags, static_cast<uint32_t>(ring::kSawConcurrency),
                      __ATOMIC_RELAXED);
  }
}

}  // namespace rollcall::shim
