// SPDX-License-Identifier: Apache-2.0
#include "shim/recorded_values.h"

#include <cstring>

#include "shim/call_paths.h"
#include "shim/process.h"
#include "shim/spin_lock.h"
#include "shim/stack/stack.h"

namespace rollcall::shim {
namespace {

constexpr uint32_t kMaxNames = 1024;

constinit SpinLock g_lock;
// The hash of the name of each used element. Guarded by g_lock.
constinit uint64_t g_hashes[kMaxNames] = {};

// The element of a name; nullptr if there is no room. The caller holds g_lock.
ring::NamedValues* Find(const char* name) {
  ring::Section* section = g_process.Of(ring::SectionKind::kValues);
  auto* table = g_process.Table<ring::NamedValues>(ring::SectionKind::kValues);
  const auto length = static_cast<uint32_t>(strnlen(name, ring::kValueNameBytes));
  const uint64_t hash = HashBytes(name, length, 0x7f);
  const uint64_t used = section->used;
  for (uint64_t i = 0; i < used; ++i) {
    if (g_hashes[i] == hash) return &table[i];
  }
  const uint32_t text =
      used < section->capacity && used < kMaxNames ? InternBytes(name, length) : 0;
  if (text == 0) {
    __atomic_fetch_add(&section->lost, 1, __ATOMIC_RELAXED);
    return nullptr;
  }
  g_hashes[used] = hash;
  ChangeUnderLock(&table[used].lock, [&] { StoreRelaxed(&table[used].name, text); });
  StoreRelease(&section->used, used + 1);
  return &table[used];
}

}  // namespace

void RecordValue(const char* name, ring::ValueType type, const void* value, size_t bytes,
                 CallerFrame caller) {
  if (!Recording() || name == nullptr || value == nullptr) return;
  const ErrnoGuard keeper;
  ring::RecordedValue recorded{};
  if (type == ring::ValueType::kHash) {
    recorded.bits = HashBytes(value, bytes, 0x80);
  } else {
    memcpy(&recorded.bits, value, sizeof(recorded.bits));
  }
  recorded.type = static_cast<uint16_t>(type);
  recorded.call_path = CurrentCallPath(caller).id;
  recorded.ticks = Ticks();
  // Waits for the lock: a call that is not counted would shift the numbers of all later calls.
  const SpinGuard guard(g_lock);
  ring::NamedValues* values = Find(name);
  if (values == nullptr) return;
  ChangeUnderLock(&values->lock, [&] {
    values->recent[values->count % ring::kRecentValues] = recorded;
    StoreRelaxed(&values->count, values->count + 1);
  });
}

}  // namespace rollcall::shim

#ifndef ROLLCALL_NO_EXPORTS
extern "C" ROLLCALL_EXPORT void rollcall_value(const char* name, int type, const void* value,
                                               size_t bytes) {
  rollcall::shim::RecordValue(name, static_cast<rollcall::ring::ValueType>(type), value, bytes,
                              ROLLCALL_CALLER_FRAME());
  ROLLCALL_KEEP_FRAME();
}
#endif
