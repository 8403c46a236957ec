// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/start.h"

#include "shim/process.h"

namespace rollcall::shim::nccl {

void SetClock() {
  constexpr uint64_t kApartNs = 150'000;
  const ring::FileHeader* header = g_process.header;
  while (MonotonicNs() - header->first_anchor.monotonic_ns < kApartNs) {
  }
  RefreshClockAnchor();
}

void SetUnknownWorld(const KnownIdentity& identity) {
  ring::FileHeader* header = g_process.header;
  if (LoadRelaxed(&header->world_rank) >= 0) return;
  StoreRelaxed(&header->world_rank, identity.rank);
  StoreRelaxed(&header->world_size, identity.size);
}

}  // namespace rollcall::shim::nccl
