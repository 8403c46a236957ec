#include "collector/import/ring_image.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rollcall {
namespace {

using ring::SectionKind;

// The element sizes of this version; 0: the kind is not read.
constexpr uint32_t KnownBytes(SectionKind kind) {
  switch (kind) {
    case SectionKind::kThreads:
      return sizeof(ring::ThreadEntry);
    case SectionKind::kParticipants:
      return sizeof(ring::Participant);
    case SectionKind::kOpenRequests:
      return sizeof(ring::OpenRequest);
    case SectionKind::kChannels:
      return sizeof(ring::Channel);
    case SectionKind::kGpuProgress:
      return sizeof(ring::GpuProgress);
    case SectionKind::kModules:
      return sizeof(ring::Module);
    case SectionKind::kDatatypes:
      return sizeof(ring::Datatype);
    case SectionKind::kStrings:
      return 1;
    case SectionKind::kCallPaths:
      return sizeof(uint64_t);
    case SectionKind::kRings:
      return sizeof(ring::Record);
    case SectionKind::kPythonCode:
      return sizeof(ring::PythonCode);
    case SectionKind::kMarks:
      return sizeof(ring::Mark);
    case SectionKind::kUnused:
      return 0;
  }
  return 0;
}

// Larger strides than this come from damage, not from a newer version.
constexpr uint32_t kMaxElementBytes = 64 << 10;

constexpr const char* SectionName(SectionKind kind) {
  switch (kind) {
    case SectionKind::kThreads:
      return "threads";
    case SectionKind::kParticipants:
      return "participants";
    case SectionKind::kOpenRequests:
      return "open requests";
    case SectionKind::kChannels:
      return "channels";
    case SectionKind::kGpuProgress:
      return "GPU progress";
    case SectionKind::kModules:
      return "modules";
    case SectionKind::kDatatypes:
      return "datatypes";
    case SectionKind::kStrings:
      return "strings";
    case SectionKind::kCallPaths:
      return "call paths";
    case SectionKind::kRings:
      return "records";
    case SectionKind::kPythonCode:
      return "Python code";
    case SectionKind::kMarks:
      return "marks";
    case SectionKind::kUnused:
      break;
  }
  return "unused";
}

class ImageTaker {
 public:
  ImageTaker(ByteSource& bytes, RingImage* image) : bytes_(bytes), image_(*image) {}

  void Take(ImageDepth depth) {
    if (!ReadHeader()) return;
    image_.usable = true;
    LocateSections();
    TakeThreads();
    TakeLocked(SectionKind::kParticipants);
    TakeLocked(SectionKind::kOpenRequests);
    // Before GPU progress: what a mark said stands there when its place is used for another.
    TakeLocked(SectionKind::kMarks);
    image_.has_records = depth == ImageDepth::kAll;
    if (image_.has_records) {
      TakeRecords();
      // What records refer to was written before them, so it is copied after them.
      RefreshHeader();
      for (const SectionKind kind :
           {SectionKind::kStrings, SectionKind::kCallPaths, SectionKind::kModules,
            SectionKind::kDatatypes, SectionKind::kChannels, SectionKind::kGpuProgress,
            SectionKind::kPythonCode}) {
        image_.table(kind).bytes = ReadTable(kind);
      }
    } else {
      RefreshHeader();
      // What runs on the devices is a part of the activity.
      image_.table(SectionKind::kGpuProgress).bytes = ReadTable(SectionKind::kGpuProgress);
    }
  }

 private:
  void Complain(int64_t offset, std::string message) {
    image_.problems.push_back({image_.source, offset, std::move(message)});
  }

  bool ReadHeader() {
    file_bytes_ = bytes_.Size();
    ring::FileHeader& header = image_.header;
    const size_t got = bytes_.Read(0, &header, sizeof(header));
    if (got == 0) {
      Complain(0, file_bytes_ == 0 ? "the file is empty" : "the file cannot be read");
      return false;
    }
    if (got < sizeof(header.magic) ||
        std::memcmp(header.magic, ring::kMagic, sizeof(header.magic)) != 0) {
      const char zeros[sizeof(header.magic)] = {};
      const bool blank = std::memcmp(header.magic, zeros, sizeof(zeros)) == 0;
      Complain(0, blank && got == sizeof(header)
                      ? "the ring was never finished: its process ended while making it"
                      : "not a rollcall ring");
      return false;
    }
    if (got < offsetof(ring::FileHeader, host)) {
      Complain(static_cast<int64_t>(got),
               fmt::format("cut at {} of {} header bytes", got, sizeof(header)));
      return false;
    }
    if (header.byte_order != ring::kByteOrder) {
      const bool swapped = __builtin_bswap32(header.byte_order) == ring::kByteOrder;
      Complain(offsetof(ring::FileHeader, byte_order),
               swapped
                   ? "written on a machine of the other byte order; analyze it on one of its kind"
                   : "damaged: the byte order mark is neither way round");
      return false;
    }
    if (header.version_major != ring::kVersionMajor) {
      Complain(offsetof(ring::FileHeader, version_major),
               fmt::format("ring format version {}.{}, and this rollcall reads version {}",
                           header.version_major, header.version_minor, ring::kVersionMajor));
      return false;
    }
    if (got < sizeof(header)) {
      Complain(static_cast<int64_t>(got),
               fmt::format("cut at {} of {} header bytes: only who wrote "
                           "it is known",
                           got, sizeof(header)));
      std::memset(header.sections, 0, sizeof(header.sections));
    } else if (header.file_bytes > file_bytes_) {
      Complain(static_cast<int64_t>(file_bytes_),
               fmt::format("cut at {} of {} bytes", file_bytes_, header.file_bytes));
    }
    TerminateStrings();
    return true;
  }

  void TerminateStrings() {
    ring::FileHeader& header = image_.header;
    header.host[sizeof(header.host) - 1] = 0;
    header.executable[sizeof(header.executable) - 1] = 0;
    header.command[sizeof(header.command) - 1] = 0;
    header.library[sizeof(header.library) - 1] = 0;
    header.cgroup[sizeof(header.cgroup) - 1] = 0;
  }

  // The words that change: once more, now that what they guard has been copied.
  void RefreshHeader() {
    ring::FileHeader& header = image_.header;
    uint64_t lock_before = header.last_anchor_lock;
    uint64_t lock_after = header.last_anchor_lock;
    if (bytes_.Changes()) {
      ring::FileHeader before;
      ring::FileHeader now;
      ring::FileHeader after;
      for (ring::FileHeader* copy : {&before, &now, &after}) {
        if (bytes_.Read(0, copy, sizeof(*copy)) != sizeof(*copy)) return;
      }
      lock_before = before.last_anchor_lock;
      lock_after = after.last_anchor_lock;
      header = now;
      TerminateStrings();
    }
    // One anchor is better than a torn one.
    if (lock_before != lock_after || (lock_after & 1) != 0)
      header.last_anchor = header.first_anchor;
    header.last_anchor_lock = 0;
  }

  const ring::Section* Find(SectionKind kind) const {
    const int index = section_index_[static_cast<uint32_t>(kind)];
    return index < 0 ? nullptr : &image_.header.sections[index];
  }

  // Where each section is; those that cannot be right are left out.
  void LocateSections() {
    section_index_.fill(-1);
    const ring::FileHeader& header = image_.header;
    uint32_t count = header.section_count;
    if (count > ring::kMaxSections) {
      Complain(
          offsetof(ring::FileHeader, section_count),
          fmt::format("damaged: {} sections, at most {} are possible", count, ring::kMaxSections));
      count = ring::kMaxSections;
    }
    std::vector<std::pair<uint64_t, uint64_t>> taken = {{0, sizeof(ring::FileHeader)}};
    for (uint32_t i = 0; i < count; ++i) {
      const ring::Section& section = header.sections[i];
      if (section.kind >= kSectionKinds || section.capacity == 0) continue;
      const auto kind = static_cast<SectionKind>(section.kind);
      const uint32_t known = KnownBytes(kind);
      if (known == 0) continue;
      const auto where =
          static_cast<int64_t>(offsetof(ring::FileHeader, sections) + i * sizeof(ring::Section));
      const bool is_exact = kind == SectionKind::kStrings || kind == SectionKind::kCallPaths;
      if (section.element_bytes < known || section.element_bytes > kMaxElementBytes ||
          (is_exact && section.element_bytes != known)) {
        Complain(where, fmt::format("{} of {} bytes each, {} expected: ignored", SectionName(kind),
                                    section.element_bytes, known));
        continue;
      }
      uint64_t end = 0;
      if (section.offset % 64 != 0 ||
          __builtin_mul_overflow(section.capacity, uint64_t{section.element_bytes}, &end) ||
          __builtin_add_overflow(end, section.offset, &end)) {
        Complain(where, fmt::format("damaged: {} at offset {} with room for {}: ignored",
                                    SectionName(kind), section.offset, section.capacity));
        continue;
      }
      const bool overlaps = std::any_of(taken.begin(), taken.end(), [&](const auto& other) {
        return section.offset < other.second && other.first < end;
      });
      if (overlaps || section_index_[section.kind] >= 0) {
        Complain(where, fmt::format("damaged: {} {}: ignored", SectionName(kind),
                                    overlaps ? "overlap another section" : "are there twice"));
        continue;
      }
      taken.emplace_back(section.offset, end);
      section_index_[section.kind] = static_cast<int>(i);
      ImageTable& table = image_.table(kind);
      table.offset = section.offset;
      table.element_bytes = section.element_bytes;
      table.capacity = section.capacity;
      table.lost = section.lost;
      const uint64_t wanted = std::min(section.used, section.capacity) * section.element_bytes;
      if (section.offset >= file_bytes_ || wanted > file_bytes_ - section.offset) {
        if (wanted != 0) {
          Complain(static_cast<int64_t>(file_bytes_),
                   fmt::format("cut: of {} {} only {} are there",
                               std::min(section.used, section.capacity), SectionName(kind),
                               section.offset >= file_bytes_
                                   ? 0
                                   : (file_bytes_ - section.offset) / section.element_bytes));
        }
      }
    }
  }

  // How many bytes of a section are in use and there.
  size_t BytesOf(SectionKind kind) {
    const ring::Section* section = Find(kind);
    if (section == nullptr || section->offset >= file_bytes_) return 0;
    // `used` may have grown since the section was checked, which changes nothing else.
    const ImageTable& table = image_.table(kind);
    const uint64_t elements = std::min(
        {section->used, table.capacity, (file_bytes_ - table.offset) / table.element_bytes});
    const uint64_t bytes = elements * table.element_bytes;
    if (bytes > budget_) {
      Complain(static_cast<int64_t>(table.offset),
               fmt::format("{} MiB of {}: more than is read of one ring; ignored", bytes >> 20,
                           SectionName(kind)));
      return 0;
    }
    return bytes;
  }

  std::vector<uint8_t> ReadTable(SectionKind kind) {
    std::vector<uint8_t> bytes(BytesOf(kind));
    if (bytes.empty()) return bytes;
    const ImageTable& table = image_.table(kind);
    const size_t got = bytes_.Read(table.offset, bytes.data(), bytes.size());
    budget_ -= got;
    if (got < bytes.size()) {
      Complain(static_cast<int64_t>(table.offset + got),
               fmt::format("{} cannot be read to their end", SectionName(kind)));
      bytes.resize(got - got % table.element_bytes);
    }
    return bytes;
  }

  // Reads the bytes of `table` again, into a buffer of the same size.
  bool ReadAgain(const ImageTable& table, std::vector<uint8_t>* to) {
    to->resize(table.bytes.size());
    return bytes_.Read(table.offset, to->data(), to->size()) == to->size();
  }

  // Three copies: what is equal in the first and the third did not change while the second was
  // made. Copying out of order within one pread() does no harm, as no conclusion rests on one copy
  // alone.
  void TakeThreads() {
    ImageTable& table = image_.table(SectionKind::kThreads);
    table.bytes = ReadTable(SectionKind::kThreads);
    if (!bytes_.Changes()) return;
    ImageTable before = table;
    ImageTable after = table;
    // A thread that keeps calling never holds still; its calls in flight are then of no interest.
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

  // What a thread polls for changes without a call: it is dropped alone.
  static void KeepStillPolling(const ImageTable& before, const ImageTable& after, ImageTable* table,
                               uint64_t index) {
    const uint64_t lock = before.Get<ring::ThreadEntry>(index).polling.lock;
    if (lock == table->Get<ring::ThreadEntry>(index).polling.lock &&
        lock == after.Get<ring::ThreadEntry>(index).polling.lock) {
      return;
    }
    table->Put(index, offsetof(ring::ThreadEntry, polling), lock | 1);
  }

  // The count of ended calls tells apart two calls that use one slot and, by chance, one lock
  // value.
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

  // A table whose elements begin with a lock word: participants, open requests, marks.
  void TakeLocked(SectionKind kind) {
    ImageTable& table = image_.table(kind);
    table.bytes = ReadTable(kind);
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
      if (kind == SectionKind::kParticipants) KeepStillCheckpoints(before, after, &table, i);
    }
  }

  // Numbers only grow, so one that is the same before and after guards what was copied in between.
  static void KeepStillCheckpoints(const ImageTable& before, const ImageTable& after,
                                   ImageTable* table, uint64_t index) {
    constexpr size_t kFirst = offsetof(ring::Participant, recent);
    constexpr uint32_t kCount = ring::kRecentCheckpoints + ring::kHistoryCheckpoints;
    for (uint32_t k = 0; k < kCount; ++k) {
      const size_t at = kFirst + k * sizeof(ring::Checkpoint);
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

  using SlotRange = std::pair<uint64_t, uint64_t>;  // first, end

  // The slots that hold records by what the heads say: in most jobs a small part of the pool. Each
  // once, however often a damaged table claims it.
  std::vector<SlotRange> UsedSlots() const {
    const ImageTable& threads = image_.table(SectionKind::kThreads);
    const uint64_t pool = image_.table(SectionKind::kRings).size();
    std::vector<SlotRange> claims;
    for (uint64_t i = 0; i < threads.size(); ++i) {
      const auto thread = threads.Get<ring::ThreadEntry>(i);
      for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
        const uint64_t first = std::min(thread.ring_first[kind], pool);
        const uint64_t used = std::min(thread.ring_slots[kind], thread.ring_head[kind]);
        if (used != 0) claims.emplace_back(first, first + std::min(used, pool - first));
      }
    }
    std::sort(claims.begin(), claims.end());
    std::vector<SlotRange> slots;
    for (const auto& [first, end] : claims) {
      if (slots.empty() || first > slots.back().second) {
        slots.emplace_back(first, end);
      } else {
        slots.back().second = std::max(slots.back().second, end);
      }
    }
    return slots;
  }

  // Record i < head was whole before the heads were read, in TakeThreads(). If its slot's lock is
  // still the same after the copy, no later record was begun in that slot while it was copied.
  // Slots without a record stay zero.
  void TakeRecords() {
    ImageTable& table = image_.table(SectionKind::kRings);
    table.bytes.resize(BytesOf(SectionKind::kRings));
    const std::vector<SlotRange> slots = UsedSlots();
    for (const auto& [first, end] : slots) {
      if (!ReadSlots(first, end, &table)) break;
    }
    if (!bytes_.Changes()) return;
    for (const auto& [first, end] : slots) MarkOvertaken(first, end, &table);
  }

  bool ReadSlots(uint64_t first, uint64_t end, ImageTable* table) {
    const uint64_t at = first * table->element_bytes;
    const uint64_t wanted = (end - first) * table->element_bytes;
    const size_t got = bytes_.Read(table->offset + at, table->bytes.data() + at, wanted);
    budget_ -= got;
    if (got == wanted) return true;
    Complain(static_cast<int64_t>(table->offset + at + got),
             fmt::format("{} cannot be read to their end", SectionName(SectionKind::kRings)));
    table->bytes.resize(at + got - got % table->element_bytes);
    return false;
  }

  void MarkOvertaken(uint64_t begin, uint64_t end, ImageTable* table) {
    constexpr uint64_t kChunk = 512;  // elements
    std::vector<uint8_t> chunk(kChunk * table->element_bytes);
    end = std::min(end, table->size());
    for (uint64_t first = begin; first < end; first += kChunk) {
      const uint64_t count = std::min(kChunk, end - first);
      const size_t got =
          bytes_.Read(table->OffsetOf(first), chunk.data(), count * table->element_bytes);
      for (uint64_t k = 0; k < count; ++k) {
        uint64_t now = 1;
        if ((k + 1) * table->element_bytes <= got) {
          std::memcpy(&now, chunk.data() + k * table->element_bytes, sizeof(now));
        }
        // The newer value, made odd: a reader that expects record i sees that it was overtaken.
        if (now != table->Get<uint64_t>(first + k)) table->Put(first + k, 0, now | 1);
      }
    }
  }

  ByteSource& bytes_;
  RingImage& image_;
  uint64_t file_bytes_ = 0;
  uint64_t budget_ = kMaxImageBytes;
  std::array<int, kSectionKinds> section_index_{};
};

}  // namespace

RingImage TakeImage(ByteSource& bytes, std::string source, ImageDepth depth) {
  RingImage image;
  image.source = std::move(source);
  ImageTaker(bytes, &image).Take(depth);
  return image;
}

std::vector<uint8_t> PackImage(const RingImage& image) {
  if (!image.usable) return {};
  const auto round_up = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  ring::FileHeader header = image.header;
  std::memset(header.sections, 0, sizeof(header.sections));
  header.header_bytes = sizeof(header);
  header.section_count = 0;
  uint64_t offset = sizeof(header);
  for (uint32_t kind = 1; kind < kSectionKinds; ++kind) {
    const ImageTable& table = image.tables[kind];
    if (table.element_bytes == 0) continue;
    // The capacity is what there is, so that a reader does not take the unused rest for cut off.
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
