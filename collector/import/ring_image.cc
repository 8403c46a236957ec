// SPDX-License-Identifier: Apache-2.0
#include "collector/import/ring_image.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "collector/import/ring_elements.h"
#include "collector/import/ring_tables.h"

namespace rollcall {
namespace {

using ring::SectionKind;

class ImageTaker {
 public:
  ImageTaker(ByteSource& bytes, uint64_t newest, RingImage* image)
      : bytes_(bytes),
        newest_(std::bit_floor(std::max<uint64_t>(1, newest))),
        image_(*image),
        tables_(&bytes, image) {}

  void Take(ImageDepth depth) {
    if (!tables_.Open()) return;
    TakeThreads();
    TakeLocked(SectionKind::kMembers);
    TakeLocked(SectionKind::kOpenRequests);
    // Before GPU progress: a mark's content is moved there when its place is reused.
    TakeLocked(SectionKind::kMarks);
    TakeLocked(SectionKind::kDataMembers);
    image_.has_records = depth == ImageDepth::kAll;
    if (image_.has_records) {
      TakeRecords();
      // There is no head below which all records are whole, as for the rings of threads.
      TakeLocked(SectionKind::kData);
      TakeLocked(SectionKind::kValues);
      KeepNewestData();
      // The data that records refer to was written before them, so it is copied after them.
      RefreshHeader();
      for (const SectionKind kind :
           {SectionKind::kStrings, SectionKind::kCallPaths, SectionKind::kModules,
            SectionKind::kDatatypes, SectionKind::kChannels, SectionKind::kPeerCounts,
            SectionKind::kGpuProgress, SectionKind::kPythonCode}) {
        tables_.Read(kind);
      }
    } else {
      RefreshHeader();
      // The progress of devices is part of the activity.
      tables_.Read(SectionKind::kGpuProgress);
    }
  }

 private:
  // Reads the header's changing words again, after the data that they guard has been copied.
  void RefreshHeader() {
    ring::FileHeader& header = image_.header;
    ring::FileHeader before = header;
    ring::FileHeader after = header;
    if (bytes_.Changes()) {
      ring::FileHeader now;
      for (ring::FileHeader* copy : {&before, &now, &after}) {
        if (bytes_.Read(0, copy, sizeof(*copy)) != sizeof(*copy)) return;
      }
      header = now;
      TerminateStrings(&header);
    }
    const auto torn = [&](uint64_t ring::FileHeader::*lock) {
      return before.*lock != after.*lock || (after.*lock & 1) != 0;
    };
    // Use the first anchor rather than a torn one.
    if (torn(&ring::FileHeader::last_anchor_lock)) header.last_anchor = header.first_anchor;
    header.last_anchor_lock = 0;
    if (torn(&ring::FileHeader::user_phase_lock)) {
      std::memset(header.user_phase, 0, sizeof(header.user_phase));
    }
    header.user_phase_lock = 0;
  }

  // Reads the bytes of `table` again, into a buffer of the same size.
  bool ReadAgain(const ImageTable& table, std::vector<uint8_t>* to) {
    to->resize(table.bytes.size());
    return bytes_.Read(table.offset, to->data(), to->size()) == to->size();
  }

  // Makes three copies: data that is equal in the first and the third copy did not change while the
  // second copy was made. The order of copying within one pread() does not matter, because no
  // conclusion is based on one copy alone.
  void TakeThreads() {
    ImageTable& table = image_.table(SectionKind::kThreads);
    tables_.Read(SectionKind::kThreads);
    if (!bytes_.Changes()) return;
    ImageTable before = table;
    ImageTable after = table;
    // A thread that keeps making calls never holds still. Its open calls are then not needed.
    for (int attempt = 0; attempt < 4; ++attempt) {
      if (!ReadAgain(table, &before.bytes) || !ReadAgain(table, &table.bytes) ||
          !ReadAgain(table, &after.bytes)) {
        return;
      }
      image_.moved = false;
      for (uint64_t i = 0; i < table.size(); ++i) {
        if (!HeldStill(before, table, after, i)) image_.moved = true;
      }
      if (!image_.moved) break;
    }
    for (uint64_t i = 0; i < table.size(); ++i) {
      KeepStillPolling(before, after, &table, i);
      if (HeldStill(before, table, after, i)) continue;
      for (uint32_t k = 0; k < ring::kMaxNesting; ++k) {
        table.Put(i,
                  offsetof(ring::ThreadEntry, open) + k * sizeof(ring::OpenCall) +
                      offsetof(ring::Record, operation),
                  uint16_t{0});
      }
    }
  }

  // The polling words change without a recorded call. If they changed, only they are dropped.
  static void KeepStillPolling(const ImageTable& before, const ImageTable& after, ImageTable* table,
                               uint64_t index) {
    const uint64_t lock = before.Get<ring::ThreadEntry>(index).polling.lock;
    if (lock == table->Get<ring::ThreadEntry>(index).polling.lock &&
        lock == after.Get<ring::ThreadEntry>(index).polling.lock) {
      return;
    }
    table->Put(index, offsetof(ring::ThreadEntry, polling), lock | 1);
  }

  // The count of ended calls distinguishes two calls that use the same slot and, by chance, the
  // same lock value.
  static bool HeldStill(const ImageTable& before, const ImageTable& table, const ImageTable& after,
                        uint64_t index) {
    const auto a = before.Get<ring::ThreadEntry>(index);
    const auto b = table.Get<ring::ThreadEntry>(index);
    const auto c = after.Get<ring::ThreadEntry>(index);
    if (a.calls_ended != c.calls_ended || a.depth != c.depth) return false;
    for (uint32_t k = 0; k < ring::kMaxNesting; ++k) {
      const uint64_t lock = a.open[k].record.lock;
      if (lock != b.open[k].record.lock || lock != c.open[k].record.lock) return false;
    }
    return true;
  }

  // A table whose elements begin with a lock word.
  void TakeLocked(SectionKind kind) {
    ImageTable& table = image_.table(kind);
    tables_.Read(kind);
    if (!bytes_.Changes()) return;
    ImageTable before = table;
    ImageTable after = table;
    if (!ReadAgain(table, &before.bytes) || !ReadAgain(table, &table.bytes) ||
        !ReadAgain(table, &after.bytes)) {
      return;
    }
    for (uint64_t i = 0; i < table.size(); ++i) {
      const uint64_t lock = before.Get<uint64_t>(i);
      const bool same = lock == table.Get<uint64_t>(i) && lock == after.Get<uint64_t>(i);
      if (!same) table.Put(i, 0, lock | 1);
      if (kind == SectionKind::kMembers) {
        KeepStillCheckpoints(before, after, &table, i,
                             {offsetof(ring::Member, recent), sizeof(ring::Checkpoint),
                              ring::kRecentCheckpoints + ring::kHistoryCheckpoints});
      } else if (kind == SectionKind::kDataMembers) {
        KeepStillCheckpoints(before, after, &table, i,
                             {offsetof(ring::DataMember, recent), sizeof(ring::DataCheckpoint),
                              ring::kDataCheckpoints});
      }
    }
  }

  // An array of checkpoints in an element.
  struct Checkpoints {
    size_t at;
    size_t bytes;  // of one
    uint32_t count;
  };

  // Keeps a ring of the newest records only, as PlanPool() does for the rings of threads.
  void KeepNewestData() {
    ImageTable& table = image_.table(SectionKind::kData);
    if (table.size() <= newest_) return;
    uint64_t end = 0;  // number of the newest record, plus one
    for (uint64_t i = 0; i < table.size(); ++i) end = std::max(end, table.Get<uint64_t>(i) / 2);
    std::vector<uint8_t> kept(newest_ * table.element_bytes);
    for (uint64_t i = 0; i < table.size(); ++i) {
      const auto lock = table.Get<uint64_t>(i);
      if (lock == 0 || IsBeingWritten(lock) || end - lock / 2 >= newest_) continue;
      std::memcpy(kept.data() + (lock / 2 - 1) % newest_ * table.element_bytes,
                  table.bytes.data() + i * table.element_bytes, table.element_bytes);
    }
    table.bytes = std::move(kept);
    table.capacity = newest_;
  }

  // Sequence numbers only grow: if a number is equal before and after, the copy between is
  // consistent.
  static void KeepStillCheckpoints(const ImageTable& before, const ImageTable& after,
                                   ImageTable* table, uint64_t index, Checkpoints all) {
    for (uint32_t k = 0; k < all.count; ++k) {
      const size_t at = all.at + k * all.bytes;
      const size_t from = index * table->element_bytes + at;
      uint64_t a;
      uint64_t b;
      uint64_t c;
      std::memcpy(&a, before.bytes.data() + from, sizeof(a));
      std::memcpy(&b, table->bytes.data() + from, sizeof(b));
      std::memcpy(&c, after.bytes.data() + from, sizeof(c));
      if (a != b || b != c) table->Put(index, at, uint64_t{0});
    }
  }

  // Records that are contiguous, both in the file and in the image.
  struct Slots {
    uint64_t from = 0;  // the first slot in the file
    uint64_t to = 0;    // the first slot in the image
    uint64_t count = 0;
  };

  // Returns the slots of the records to take, according to the heads. In most jobs they are a small
  // part of the pool. If only the newest records are wanted, the image has a separate pool for
  // them. In both pools, a record's slot is its number modulo the number of slots. Never takes more
  // slots than exist, even if a damaged table claims a slot several times.
  std::vector<Slots> PlanPool(uint64_t pool, uint64_t* planned) {
    ImageTable& threads = image_.table(SectionKind::kThreads);
    const bool all = newest_ >= pool;
    std::vector<Slots> taken;
    uint64_t used = 0;
    for (uint64_t i = 0; i < threads.size(); ++i) {
      auto thread = threads.Get<ring::ThreadEntry>(i);
      for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
        const uint64_t head = thread.ring_head[kind];
        const uint64_t first = std::min(thread.ring_first[kind], pool);
        const uint64_t slots = thread.ring_slots[kind];
        const uint64_t kept = all ? slots : KeptSlots(slots, head);
        // A damaged table may claim slots that do not exist. No room is made for such slots.
        const uint64_t there = std::min({kept, pool - first, pool - used});
        const uint64_t place = all ? first : used;
        for (uint64_t n = head - std::min(head, kept); n < head;) {
          const uint64_t from = n % slots;
          const uint64_t to = n % kept;
          const uint64_t count = std::min({head - n, slots - from, kept - to});
          if (first + from < pool && to < there) {
            taken.push_back(
                {first + from, place + to, std::min({count, pool - first - from, there - to})});
          }
          n += count;
        }
        used += there;
        if (all) continue;
        thread.ring_first[kind] = place;
        thread.ring_slots[kind] = kept;
      }
      threads.Put(i, offsetof(ring::ThreadEntry, ring_first), thread.ring_first);
      threads.Put(i, offsetof(ring::ThreadEntry, ring_slots), thread.ring_slots);
    }
    *planned = all ? pool : used;
    return taken;
  }

  // For ring buffers whose number of slots is a power of two, like all that the shim makes.
  uint64_t KeptSlots(uint64_t slots, uint64_t head) const {
    if (!std::has_single_bit(slots)) return slots;
    return std::min({slots, newest_, head > slots ? slots : std::bit_ceil(head)});
  }

  // Record i < head was complete before the heads were read, in TakeThreads(). If its slot's lock
  // is unchanged after the copy, no later record was begun in that slot while it was copied. Slots
  // without a record stay zero.
  void TakeRecords() {
    ImageTable& table = image_.table(SectionKind::kRings);
    if (table.element_bytes == 0) return;
    uint64_t pool = 0;
    const std::vector<Slots> taken =
        PlanPool(tables_.BytesOf(SectionKind::kRings) / table.element_bytes, &pool);
    table.bytes.assign(pool * table.element_bytes, 0);
    for (const Slots& slots : taken) {
      if (!tables_.ReadElements(SectionKind::kRings, slots.from, slots.to, slots.count)) break;
    }
    if (bytes_.Changes()) {
      for (const Slots& slots : taken) MarkOvertaken(slots, &table);
    }
    table.capacity = table.size();
  }

  void MarkOvertaken(const Slots& slots, ImageTable* table) {
    constexpr uint64_t kChunk = 512;  // elements
    const uint64_t end = std::min(slots.to + slots.count, table->size());
    std::vector<uint8_t> chunk(std::min(kChunk, slots.count) * table->element_bytes);
    for (uint64_t to = slots.to; to < end; to += kChunk) {
      const uint64_t count = std::min(kChunk, end - to);
      const size_t got = bytes_.Read(table->OffsetOf(slots.from + (to - slots.to)), chunk.data(),
                                     count * table->element_bytes);
      for (uint64_t k = 0; k < count; ++k) {
        uint64_t now = 1;
        if ((k + 1) * table->element_bytes <= got) {
          std::memcpy(&now, chunk.data() + k * table->element_bytes, sizeof(now));
        }
        // Stores the newer value, made odd: a reader that expects record i sees that it was
        // overwritten.
        if (now != table->Get<uint64_t>(to + k)) table->Put(to + k, 0, now | 1);
      }
    }
  }

  ByteSource& bytes_;
  const uint64_t newest_;  // a power of two
  RingImage& image_;
  RingTables tables_;
};

}  // namespace

RingImage TakeImage(ByteSource& bytes, std::string source, ImageDepth depth, uint64_t newest) {
  RingImage image;
  image.source = std::move(source);
  ImageTaker(bytes, newest, &image).Take(depth);
  return image;
}

uint64_t RingActivity(const RingImage& image) {
  uint64_t activity = image.header.phase;
  const ImageTable& threads = image.table(SectionKind::kThreads);
  for (uint64_t i = 0; i < threads.size(); ++i) {
    const auto thread = threads.Get<ring::ThreadEntry>(i);
    if (!IsInUse(thread)) continue;
    for (const uint64_t head : thread.ring_head) activity += head;
    activity += thread.calls_ended;
  }
  const ImageTable& marks = image.table(SectionKind::kMarks);
  for (uint64_t i = 0; i < marks.size(); ++i) activity += marks.Get<ring::Mark>(i).written;
  const ImageTable& gpu = image.table(SectionKind::kGpuProgress);
  for (uint64_t i = 0; i < gpu.size(); ++i) {
    const auto progress = gpu.Get<ring::GpuProgress>(i);
    if (IsInUse(progress)) activity += progress.started;
  }
  return activity;
}

std::vector<uint8_t> PackImage(const RingImage& image) {
  if (!image.usable) return {};
  const auto round_up = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  ring::FileHeader header = image.header;
  std::memset(header.sections, 0, sizeof(header.sections));
  header.header_bytes = sizeof(header);
  header.section_count = 0;
  uint64_t offset = sizeof(header);
  for (uint32_t kind = 1; kind < ring::kSectionKinds; ++kind) {
    const ImageTable& table = image.tables[kind];
    if (table.element_bytes == 0) continue;
    // The capacity is the present size, so that a reader does not consider the unused rest
    // truncated.
    header.sections[header.section_count++] = {kind,         table.element_bytes, offset,
                                               table.size(), table.size(),        table.lost};
    offset += round_up(table.bytes.size());
  }
  header.file_bytes = offset;
  std::vector<uint8_t> bytes(offset);
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (uint32_t i = 0; i < header.section_count; ++i) {
    const ImageTable& table = image.tables[header.sections[i].kind];
    std::copy(table.bytes.begin(), table.bytes.end(),
              bytes.begin() + static_cast<ptrdiff_t>(header.sections[i].offset));
  }
  return bytes;
}

}  // namespace rollcall
