// SPDX-License-Identifier: Apache-2.0
#include "collector/import/ring_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace rollcall {
namespace {

using ring::SectionKind;

// Larger strides than this come from damage, not from a newer version.
constexpr uint32_t kMaxElementBytes = 64 << 10;

struct KnownSection {
  uint32_t element_bytes;  // of this version; 0: the kind is not read
  const char* name;
  uint32_t first_bytes = 0;  // of the first version, if elements have grown since

  constexpr uint32_t OldestBytes() const { return first_bytes != 0 ? first_bytes : element_bytes; }
};

constexpr KnownSection Known(SectionKind kind) {
  switch (kind) {
    case SectionKind::kThreads:
      return {sizeof(ring::ThreadEntry), "threads"};
    case SectionKind::kMembers:
      return {sizeof(ring::Member), "members"};
    case SectionKind::kOpenRequests:
      return {sizeof(ring::OpenRequest), "open requests"};
    case SectionKind::kChannels:
      return {sizeof(ring::Channel), "channels"};
    case SectionKind::kGpuProgress:
      return {sizeof(ring::GpuProgress), "GPU progress"};
    case SectionKind::kModules:
      return {sizeof(ring::Module), "modules"};
    case SectionKind::kDatatypes:
      return {sizeof(ring::Datatype), "datatypes"};
    case SectionKind::kStrings:
      return {1, "strings"};
    case SectionKind::kCallPaths:
      return {sizeof(uint64_t), "call paths"};
    case SectionKind::kRings:
      return {sizeof(ring::Record), "records"};
    case SectionKind::kPythonCode:
      return {sizeof(ring::PythonCode), "Python code"};
    case SectionKind::kMarks:
      return {sizeof(ring::Mark), "marks"};
    case SectionKind::kData:
      return {sizeof(ring::DataRecord), "data records"};
    case SectionKind::kDataMembers:
      return {sizeof(ring::DataMember), "data of communicators",
              offsetof(ring::DataMember, outside)};
    case SectionKind::kPeerCounts:
      return {sizeof(ring::PeerCount), "sums of messages"};
    case SectionKind::kValues:
      return {sizeof(ring::NamedValues), "recorded values"};
    case SectionKind::kUnused:
      break;
  }
  return {0, "unused"};
}

}  // namespace

bool RingTables::Open() {
  if (!ReadHeader()) return false;
  image_.usable = true;
  LocateSections();
  return true;
}

bool RingTables::ReadHeader() {
  file_bytes_ = bytes_.Size();
  ring::FileHeader& header = image_.header;
  const size_t got = bytes_.Read(0, &header, sizeof(header));
  if (got == 0) {
    const bool empty = file_bytes_ == 0;
    AddProblem(0, empty ? "the file is empty" : "the file cannot be read",
               empty ? ProblemCode::kTruncated : ProblemCode::kUnreadable);
    return false;
  }
  if (got < sizeof(header.magic) ||
      std::memcmp(header.magic, ring::kMagic, sizeof(header.magic)) != 0) {
    const char zeros[sizeof(header.magic)] = {};
    const bool blank =
        got == sizeof(header) && std::memcmp(header.magic, zeros, sizeof(zeros)) == 0;
    AddProblem(0,
               blank ? "the ring was never finished: its process ended while making it"
                     : "not a rollcall ring",
               blank ? ProblemCode::kTruncated : ProblemCode::kForeign);
    return false;
  }
  if (got < offsetof(ring::FileHeader, host)) {
    AddProblem(got, fmt::format("cut at {} of {} header bytes", got, sizeof(header)),
               ProblemCode::kTruncated);
    return false;
  }
  if (header.byte_order != ring::kByteOrder) {
    const bool swapped = __builtin_bswap32(header.byte_order) == ring::kByteOrder;
    AddProblem(offsetof(ring::FileHeader, byte_order),
               swapped
                   ? "written on a machine with the other byte order; analyze it on such a machine"
                   : "damaged: the byte order mark is invalid",
               swapped ? ProblemCode::kForeign : ProblemCode::kDamaged);
    return false;
  }
  if (header.version_major != ring::kVersionMajor) {
    AddProblem(offsetof(ring::FileHeader, version_major),
               fmt::format("ring format version {}.{}, and this rollcall reads version {}",
                           header.version_major, header.version_minor, ring::kVersionMajor),
               ProblemCode::kUnknownVersion);
    return false;
  }
  if (got < sizeof(header)) {
    AddProblem(got,
               fmt::format("cut at {} of {} header bytes: only the process that wrote it is known",
                           got, sizeof(header)),
               ProblemCode::kTruncated);
    std::memset(header.sections, 0, sizeof(header.sections));
  } else if (header.file_bytes > file_bytes_) {
    AddProblem(file_bytes_, fmt::format("cut at {} of {} bytes", file_bytes_, header.file_bytes),
               ProblemCode::kTruncated);
  }
  TerminateStrings(&header);
  return true;
}

// Finds each section; impossible ones are left out.
void RingTables::LocateSections() {
  const ring::FileHeader& header = image_.header;
  uint32_t count = header.section_count;
  if (count > ring::kMaxSections) {
    AddProblem(
        offsetof(ring::FileHeader, section_count),
        fmt::format("damaged: {} sections, at most {} are possible", count, ring::kMaxSections));
    count = ring::kMaxSections;
  }
  std::vector<std::pair<uint64_t, uint64_t>> taken = {{0, sizeof(ring::FileHeader)}};
  for (uint32_t i = 0; i < count; ++i) {
    const ring::Section& section = header.sections[i];
    if (section.kind >= ring::kSectionKinds || section.capacity == 0) continue;
    const auto kind = static_cast<SectionKind>(section.kind);
    const uint32_t known = Known(kind).OldestBytes();
    if (known == 0) continue;
    const uint64_t where = offsetof(ring::FileHeader, sections) + i * sizeof(ring::Section);
    const bool is_exact = kind == SectionKind::kStrings || kind == SectionKind::kCallPaths;
    if (section.element_bytes < known || section.element_bytes > kMaxElementBytes ||
        (is_exact && section.element_bytes != known)) {
      AddProblem(where, fmt::format("{} of {} bytes each, {} expected: ignored", Known(kind).name,
                                    section.element_bytes, known));
      continue;
    }
    uint64_t end = 0;
    if (section.offset % 64 != 0 ||
        __builtin_mul_overflow(section.capacity, uint64_t{section.element_bytes}, &end) ||
        __builtin_add_overflow(end, section.offset, &end)) {
      AddProblem(where, fmt::format("damaged: {} at offset {} with room for {}: ignored",
                                    Known(kind).name, section.offset, section.capacity));
      continue;
    }
    const bool overlaps = std::ranges::any_of(taken, [&](const auto& other) {
      return section.offset < other.second && other.first < end;
    });
    if (overlaps || image_.table(kind).element_bytes != 0) {
      AddProblem(where, fmt::format("damaged: {} {}: ignored", Known(kind).name,
                                    overlaps ? "overlap another section" : "are there twice"));
      continue;
    }
    taken.emplace_back(section.offset, end);
    section_index_[section.kind] = i;
    ImageTable& table = image_.table(kind);
    table.offset = section.offset;
    table.element_bytes = section.element_bytes;
    table.capacity = section.capacity;
    table.lost = section.lost;
    const uint64_t wanted = std::min(section.used, section.capacity) * section.element_bytes;
    if (section.offset >= file_bytes_ || wanted > file_bytes_ - section.offset) {
      if (wanted != 0) {
        AddProblem(file_bytes_,
                   fmt::format("cut: of {} {} only {} are there",
                               std::min(section.used, section.capacity), Known(kind).name,
                               section.offset >= file_bytes_
                                   ? 0
                                   : (file_bytes_ - section.offset) / section.element_bytes),
                   ProblemCode::kTruncated);
      }
    }
  }
}

size_t RingTables::BytesOf(SectionKind kind) {
  const ImageTable& table = image_.table(kind);
  if (table.element_bytes == 0 || table.offset >= file_bytes_) return 0;
  // `used` may have grown since the section was checked; no other part of the section is read
  // again.
  const uint64_t used = image_.header.sections[section_index_[static_cast<uint32_t>(kind)]].used;
  const uint64_t elements =
      std::min({used, table.capacity, (file_bytes_ - table.offset) / table.element_bytes});
  const uint64_t bytes = elements * table.element_bytes;
  if (bytes > budget_) {
    AddProblem(table.offset,
               fmt::format("{} MiB of {}: more than is read of one ring; ignored", bytes >> 20,
                           Known(kind).name),
               ProblemCode::kOverLimit);
    return 0;
  }
  return bytes;
}

void RingTables::Read(SectionKind kind) {
  ImageTable& table = image_.table(kind);
  table.bytes.assign(BytesOf(kind), 0);
  ReadElements(kind, 0, 0, table.size());
}

bool RingTables::ReadElements(SectionKind kind, uint64_t from, uint64_t to, uint64_t count) {
  ImageTable& table = image_.table(kind);
  const uint64_t at = to * table.element_bytes;
  const uint64_t wanted = count * table.element_bytes;
  const size_t got = bytes_.Read(table.OffsetOf(from), table.bytes.data() + at, wanted);
  budget_ -= got;
  if (got == wanted) return true;
  AddProblem(table.OffsetOf(from) + got,
             fmt::format("{} cannot be read to their end", Known(kind).name),
             ProblemCode::kTruncated);
  table.bytes.resize(at + got - got % table.element_bytes);
  return false;
}

void RingTables::AddProblem(uint64_t offset, std::string message, ProblemCode code) {
  image_.problems.push_back(
      {code, std::move(message), image_.source, static_cast<int64_t>(offset)});
}

void TerminateStrings(ring::FileHeader* header) {
  header->host[sizeof(header->host) - 1] = 0;
  header->executable[sizeof(header->executable) - 1] = 0;
  header->command[sizeof(header->command) - 1] = 0;
  header->library[sizeof(header->library) - 1] = 0;
  header->cgroup[sizeof(header->cgroup) - 1] = 0;
  header->user_phase[sizeof(header->user_phase) - 1] = 0;
}

}  // namespace rollcall
