// What a ring says: records in order, tables with their references resolved, and what was lost.
//
// A snapshot is plain data with the file's own structs in it, each checked: indices point into the
// snapshot, enumerators that matter are known ones, records carry the lock word of their number.
// Numbers that nothing in here depends on (counts, hashes, ticks) are passed on as they were
// written.
//
// No globals; safe from any thread, one snapshot at a time. Throws nothing but std::bad_alloc.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_READER_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_READER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/import/ring_image.h"
#include "collector/model/trace.h"
#include "proto/ring_format.h"

namespace rollcall {

// Longer paths are damage: the shim keeps 64 frames of either language at most.
inline constexpr uint32_t kMaxPathDepth = 256;

struct RingRecord {
  uint64_t index = 0;               // number in its ring, from 0
  uint32_t send_counts = kNoIndex;  // into RingSnapshot::count_arrays
  uint32_t recv_counts = kNoIndex;
  ring::Record record{};
};

struct RingCalls {
  std::vector<RingRecord> records;  // by rising index; continuation records are folded in
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
  bool usable = false;             // false: nothing but `problems` says anything
  bool moved = false;              // a thread made calls while the picture was taken
  int64_t taken_at_ns = kNoTime;   // CLOCK_REALTIME of the picture; set by whoever took it
  std::optional<NodeClock> clock;  // by which its times are corrected: import/node_clock.h
  uint64_t activity = 0;           // RingActivity() of the image
  ring::FileHeader header{};
  std::vector<RingThread> threads;
  std::vector<ring::Member> members;  // identity whole, by rising uid, each uid once
  std::vector<ring::OpenRequest> open_requests;
  std::vector<ring::Channel> channels;
  std::vector<ring::GpuProgress> gpu;
  std::vector<ring::Mark> marks;          // member 0: never used, or being written
  std::vector<ring::Module> modules;      // by index in the file; `path` may still be out of range
  std::vector<ring::Datatype> datatypes;  // by index in the file
  std::vector<std::vector<uint64_t>> count_arrays;
  std::vector<ring::PythonCode> python_code;   // by index in the file; one that is not whole, or
                                               // that refers outside the strings, has no hash
  std::vector<uint8_t> strings;                // see String()
  std::vector<uint64_t> path_words;            // see Path()
  uint64_t path_words_at = 0;                  // where they begin in the file, for messages
  std::array<uint64_t, kSectionKinds> lost{};  // by SectionKind: elements that found no room
  uint64_t unreadable = 0;                     // torn or damaged elements of all tables and rings
  std::vector<Problem> problems;

  // Whether a StringRef points at a whole string.
  bool HasString(uint32_t ref) const;
  // The bytes that a StringRef means; empty for 0 and for references outside the table. Not
  // cleaned: may hold anything.
  std::string_view String(uint32_t ref) const;

  // The runs of a RankList; empty for 0, for references outside the table, and for lists of more
  // ranks than `max_ranks` in all.
  std::vector<ring::RankRun> RankList(uint32_t ref, uint64_t max_ranks) const;

  struct PathView {
    ring::CallPathHeader header;
    std::span<const uint64_t> frames;  // innermost first; points into the snapshot
    // Words of Python frames, likewise. None, and PythonEnd::kUnreadable in the header, where what
    // it said of them cannot be true.
    std::span<const uint64_t> python;
    bool python_damaged = false;
  };
  // The call path at a word index; nothing for 0 and for paths outside the table.
  std::optional<PathView> Path(uint64_t index) const;
};

// What an image says. Damage is listed in `problems` and left out.
RingSnapshot ParseImage(const RingImage& image);

// TakeImage() and ParseImage().
RingSnapshot ReadRing(ByteSource& bytes, std::string source, ImageDepth depth = ImageDepth::kAll);

// Identifies one process image in the journal and between agent and collector.
uint64_t RingId(const ring::FileHeader& header);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_READER_H_
