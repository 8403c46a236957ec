// SPDX-License-Identifier: Apache-2.0
// The contents of a ring: records in order, tables with resolved references, and what was lost.
//
// A snapshot is plain data with checked structs of the file: indices refer to the snapshot,
// enumerators that matter are known, records have the lock word of their number. Numbers that no
// code here depends on (counts, hashes, ticks) are passed on unchanged.
//
// No globals; safe from any thread, one snapshot at a time. Throws std::bad_alloc only.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_READER_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_READER_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/import/ring_elements.h"
#include "collector/import/ring_image.h"
#include "collector/model/trace.h"
#include "proto/ring_format.h"

namespace rollcall {

// Longer paths are damage: the shim stores at most 64 frames of each language.
inline constexpr uint32_t kMaxPathDepth = 256;

struct RingRecord {
  uint64_t index = 0;               // number in its ring, from 0
  uint32_t send_counts = kNoIndex;  // into RingSnapshot::count_arrays
  uint32_t recv_counts = kNoIndex;
  ring::Record record{};
};

struct RingCalls {
  std::vector<RingRecord> records;  // by increasing index; continuation records are merged
  uint64_t lost = 0;                // slots overwritten since, or being overwritten
  uint64_t unreadable = 0;          // torn or damaged
  uint64_t head = 0;                // slots ever written
};

struct RingThread {
  uint32_t entry = 0;         // index in the file's table
  ring::ThreadEntry state{};  // scalars; name is NUL-terminated; `open` as below
  std::array<RingCalls, ring::kRingKinds> calls;  // by RingKind
  std::vector<ring::Record> open;                 // calls in flight, outermost first
};

struct RingSnapshot {
  std::string source;
  bool usable = false;             // false: only `problems` is valid
  bool moved = false;              // a thread made calls while the image was taken
  bool reads_data = false;         // there are tables of data (--data); if packed, not empty
  int64_t taken_at_ns = kNoTime;   // CLOCK_REALTIME of the image; set by the caller
  std::optional<NodeClock> clock;  // that corrected its times: import/node_clock.h
  uint64_t activity = 0;           // RingActivity() of the image
  ring::FileHeader header{};
  std::vector<RingThread> threads;
  std::vector<ring::Member> members;  // complete identities, by increasing uid, without duplicates
  std::vector<ring::OpenRequest> open_requests;
  std::vector<ring::Channel> channels;
  bool counts_peers = false;                 // has a table of sums (1.11); if packed, not empty
  std::vector<ring::PeerCount> peer_counts;  // by member and peer, without duplicates
  std::vector<ring::GpuProgress> gpu;
  std::vector<ring::Mark> marks;          // member 0: never used, or being written
  std::vector<ring::Module> modules;      // by index in the file; `path` may still be out of range
  std::vector<ring::Datatype> datatypes;  // by index in the file
  std::vector<std::vector<uint64_t>> count_arrays;
  // Complete records of data by increasing number. The lock contains the number. Records of blocks
  // are ring::DataBlocks (BlocksIn()). Sizes and enumerators are in range.
  std::vector<ring::DataRecord> data;
  std::vector<ring::NamedValues> values;       // those in use; names and types are in range
  std::vector<ring::DataMember> data_members;  // by increasing uid, without duplicates
  std::vector<ring::PythonCode> python_code;   // by index in the file; an incomplete one, or one
                                               // that refers outside the strings, has no hash
  std::vector<uint8_t> strings;                // see String()
  std::vector<uint64_t> path_words;            // see Path()
  uint64_t path_words_at = 0;                  // where they begin in the file, for messages
  std::array<uint64_t, ring::kSectionKinds> lost{};  // by SectionKind: elements that did not fit
  uint64_t unreadable = 0;       // torn or damaged elements of all tables and rings, except for
  uint64_t data_unreadable = 0;  // of the two tables of data, on which no hang depends
  std::vector<Problem> problems;

  // StringAt() of ring_elements.h.
  std::string_view String(uint32_t ref) const { return StringAt(strings, ref); }

  // The runs of a RankList; empty for 0, for references outside the table, and for lists of more
  // than `max_ranks` ranks in all.
  std::vector<ring::RankRun> RankList(uint32_t ref, uint64_t max_ranks) const;

  struct PathView {
    ring::CallPathHeader header;
    std::span<const uint64_t> frames;  // innermost first; refers to the snapshot
    // Words of Python frames, in the same way. Empty, with PythonEnd::kUnreadable in the header, if
    // they are inconsistent.
    std::span<const uint64_t> python;
    bool python_damaged = false;
  };
  // The call path at a word index; empty for 0 and for paths outside the table.
  std::optional<PathView> Path(uint64_t index) const;
};

inline bool HoldsBlocks(const ring::DataRecord& record) {
  return record.side == static_cast<uint16_t>(ring::DataSide::kInputBlocks) ||
         record.side == static_cast<uint16_t>(ring::DataSide::kResultBlocks);
}
inline ring::DataBlocks BlocksIn(const ring::DataRecord& record) {
  ring::DataBlocks blocks;
  std::memcpy(&blocks, &record, sizeof(blocks));
  return blocks;
}

// Reads an image. Damaged parts are listed in `problems` and left out.
RingSnapshot ParseImage(const RingImage& image);

// TakeImage() and ParseImage().
RingSnapshot ReadRing(ByteSource& bytes, std::string source, ImageDepth depth = ImageDepth::kAll);

// Identifies one process image in the journal and between agent and collector.
uint64_t RingId(const ring::FileHeader& header);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_READER_H_
