// SPDX-License-Identifier: Apache-2.0
#include "shim/data/annotations.h"

#include <atomic>
#include <cstring>

#include "shim/call_paths.h"
#include "shim/data/buffer.h"
#include "shim/data/data_log.h"
#include "shim/data/device_memory.h"
#include "shim/data/settings.h"
#include "shim/process.h"
#include "shim/spin_lock.h"
#include "shim/stack/stack.h"

namespace rollcall::shim::data {
namespace {

struct Format {
  const char* name;
  Scan scan;
};
constexpr Format kFormats[] = {{"float16", Scan::kF16},
                               {"bfloat16", Scan::kBf16},
                               {"float32", Scan::kF32},
                               {"float64", Scan::kF64}};

constexpr uint32_t kMaxRegions = 64;
struct Region {
  std::atomic<uint64_t> begin;
  std::atomic<uint64_t> end;
  std::atomic<Scan> scan;
};
constinit Region g_regions[kMaxRegions] = {};
std::atomic<uint32_t> g_region_count{0};
uint32_t g_next_region = 0;  // guarded by g_lock
constinit SpinLock g_lock;

constexpr uint32_t kMaxNames = 64;
constexpr size_t kNameBytes = 63;  // the significant bytes of a name
struct Name {
  uint64_t hash;
  uint64_t calls;
  uint32_t text;  // StringRef
};
constinit Name g_names[kMaxNames] = {};  // guarded by g_names_lock
constinit SpinLock g_names_lock;

// Counts a call with this name. Returns the name's entry, nullptr if there is no room.
const Name* CountCall(const char* name) {
  const auto length = static_cast<uint32_t>(strnlen(name, kNameBytes));
  const uint64_t hash = HashBytes(name, length, 0x7e);
  for (Name& entry : g_names) {
    if (entry.calls != 0 && entry.hash != hash) continue;
    if (entry.calls == 0) entry = {.hash = hash, .calls = 0, .text = InternBytes(name, length)};
    ++entry.calls;
    return &entry;
  }
  return nullptr;
}

}  // namespace

void DescribeElements(const void* buffer, size_t bytes, const char* type) {
  if (!g_lock.TryLock()) return;
  Scan scan = Scan::kNone;
  for (const Format& format : kFormats) {
    if (type != nullptr && strcmp(type, format.name) == 0) scan = format.scan;
  }
  const auto begin = reinterpret_cast<uint64_t>(buffer);
  const uint32_t count = g_region_count.load(std::memory_order_relaxed);
  uint32_t place = 0;
  while (place < count && g_regions[place].begin.load(std::memory_order_relaxed) != begin) ++place;
  // If the table is full, the region replaces the oldest one.
  if (place == kMaxRegions) place = g_next_region++ % kMaxRegions;
  Region& region = g_regions[place];
  region.scan.store(Scan::kNone, std::memory_order_release);
  region.begin.store(begin, std::memory_order_release);
  region.end.store(begin + bytes, std::memory_order_release);
  region.scan.store(scan, std::memory_order_release);
  if (place == count) g_region_count.store(count + 1, std::memory_order_release);
  g_lock.Unlock();
}

TypeClass ClassOf(Scan scan) {
  switch (scan) {
    case Scan::kF16:
      return TypeClass::kF16;
    case Scan::kBf16:
      return TypeClass::kBf16;
    case Scan::kF32:
      return TypeClass::kF32;
    case Scan::kF64:
      return TypeClass::kF64;
    case Scan::kNone:
      break;
  }
  return TypeClass::kUnknown;
}

Scan ScanFor(const TypedBuffer& buffer) {
  const TypeClass type_class = buffer.map->type_class;
  const Scan scan = ScanOf(type_class);
  const uint32_t count = g_region_count.load(std::memory_order_acquire);
  if (__builtin_expect(scan != Scan::kNone || count == 0, 1)) return scan;
  const bool plain = type_class == TypeClass::kByte || type_class == TypeClass::kPacked ||
                     type_class == TypeClass::kChar || type_class == TypeClass::kI8 ||
                     type_class == TypeClass::kU8 || type_class == TypeClass::kI16 ||
                     type_class == TypeClass::kU16;
  if (!plain || !buffer.map->contiguous()) return scan;
  const auto begin = reinterpret_cast<uint64_t>(buffer.base);
  for (uint32_t i = 0; i < count; ++i) {
    const Region& region = g_regions[i];
    const Scan found = region.scan.load(std::memory_order_acquire);
    const uint64_t from = region.begin.load(std::memory_order_acquire);
    const uint64_t end = region.end.load(std::memory_order_acquire);
    if (found == Scan::kNone || begin < from || begin + buffer.bytes() > end) continue;
    const uint32_t element = BytesOf(found);
    if ((begin - from) % element == 0 && buffer.bytes() % element == 0) return found;
  }
  return scan;
}

void ReadReplica(const char* name, const void* buffer, size_t bytes, CallerFrame caller) {
  if (!Recording() || !g_process.data || name == nullptr || bytes == 0) return;
  const ErrnoGuard keeper;
  static constinit TypeRun run{};
  const TypeMap map{.extent = 1,
                    .bytes = 1,
                    .basics = 1,
                    .type_class = TypeClass::kByte,
                    .run_count = 1,
                    .runs = &run};
  const TypedBuffer view{.base = static_cast<const char*>(buffer), .map = &map, .count = bytes};
  ring::DataRecord record;
  memset(&record, 0, sizeof(record));
  {
    // Waits for the lock: a call that is not counted would shift the numbers of all later calls.
    const SpinGuard guard(g_names_lock);
    if (const Name* entry = CountCall(name)) {
      record.sequence = entry->calls;
      record.name = entry->text;
    }
  }
  if (record.name == 0) return;
  record.side = static_cast<uint16_t>(ring::DataSide::kReplica);
  record.call_path = CurrentCallPath(caller).id;
  if (MayRead(buffer)) {
    ReadBuffer(view, {.sample = ReadsAll() ? 0 : ring::kSampledWords, .sequence = record.sequence},
               &record);
    record.type_class = static_cast<uint16_t>(ClassOf(ScanFor(view)));
  } else {
    record.reading = static_cast<uint16_t>(ring::DataReading::kDevice);
  }
  record.ticks = Ticks();
  if (DataLog log; log.held()) log.Append(record);
}

}  // namespace rollcall::shim::data

#ifndef ROLLCALL_NO_EXPORTS
extern "C" ROLLCALL_EXPORT void rollcall_elements(const void* buffer, size_t bytes,
                                                  const char* type) {
  rollcall::shim::data::DescribeElements(buffer, bytes, type);
}
extern "C" ROLLCALL_EXPORT void rollcall_replica(const char* name, const void* buffer,
                                                 size_t bytes) {
  rollcall::shim::data::ReadReplica(name, buffer, bytes, ROLLCALL_CALLER_FRAME());
  ROLLCALL_KEEP_FRAME();
}
#endif
