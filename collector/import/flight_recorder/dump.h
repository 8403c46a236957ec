// SPDX-License-Identifier: Apache-2.0
// The checked contents of one rank's Flight Recorder dump. A dump does not contain the number of
// its rank.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/import/flight_recorder/values.h"
#include "collector/model/trace.h"

namespace rollcall::flight_recorder {

// A larger number in one entry or file is damage or an attack. The excess is left out.
inline constexpr size_t kMaxEntries = size_t{1} << 20;
inline constexpr size_t kMaxFrames = 256;    // of one stack
inline constexpr size_t kMaxTensors = 4096;  // of one operation
inline constexpr uint64_t kMaxVisits = 400'000'000;
inline constexpr size_t kMaxGroups = 1 << 16;
inline constexpr size_t kMaxGroupRanks = size_t{1} << 22;

enum class State : uint8_t { kScheduled, kStarted, kCompleted };

// The tensors of one side: the number of elements in all, and their type if it is common.
struct Tensors {
  uint64_t elements = 0;
  uint32_t dtype = kNoIndex;  // into Dump::strings
  bool known = false;
};

// Strings are indices into Dump::strings.
struct Entry {
  uint64_t record_id = 0;
  int64_t pg_id = -1;  // of this rank alone
  uint32_t pg_name = kNoIndex;
  uint32_t pg_desc = kNoIndex;
  uint64_t collective_seq = 0;
  uint64_t p2p_seq = 0;
  uint64_t op_id = 0;
  uint32_t profiling_name = kNoIndex;
  uint32_t thread_name = kNoIndex;
  uint32_t path = kNoIndex;  // into Dump::paths
  State state = State::kScheduled;
  bool is_p2p = false;
  int64_t created_ns = kNoTime;
  int64_t started_ns = kNoTime;
  int64_t completed_ns = kNoTime;
  Tensors input;
  Tensors output;
};

struct Frame {
  uint32_t function = kNoIndex;
  uint32_t file = kNoIndex;
  int line = 0;
};

struct Group {
  uint32_t name = kNoIndex;
  uint32_t desc = kNoIndex;
  uint32_t ranks_text = kNoIndex;  // "[0, 1]"; or, for a list:
  std::vector<int32_t> ranks;
};

struct GroupStatus {
  int64_t pg_id = -1;
  int64_t enqueued = -1;
  int64_t started = -1;
  int64_t completed = -1;
};

struct Dump {
  std::string source;  // for messages
  int32_t rank = -1;   // as this and the next two, from the file's name
  std::string directory;
  std::string prefix;             // what stands before the rank
  int64_t taken_at_ns = kNoTime;  // when the file was last written; kNoTime: not known
  bool usable = false;            // a dump, or what is left of one
  StringTable strings;
  std::string version;
  std::vector<Entry> entries;                // by rising record_id
  std::vector<std::vector<uint32_t>> paths;  // into frames, innermost first
  std::vector<Frame> frames;
  std::vector<Group> groups;
  std::vector<GroupStatus> statuses;
  std::vector<Problem> problems;
};

enum class Format : uint8_t { kNone, kPickle, kJson };

// Decides by the first bytes. A pickle begins with its protocol, or, if it is old, with an empty
// dict (old pickles are then refused by their opcodes); JSON begins with an object whose first keys
// are those of a dump. kNone: anything else.
Format Recognize(ByteSource& source);

// Reads the usable parts. Damage is in `problems`, with its offset; data before it is kept. At most
// `max_visits` values are visited, because many entries of a pickle may share one value of many
// thousands of elements. Throws std::bad_alloc only. Thread-safe for different sources.
Dump ReadDump(ByteSource& source, std::string name, Format format,
              uint64_t max_visits = kMaxVisits);

// "[0, 1, 8]", and also "[0,1,8]"; empty for anything else and for too many.
std::vector<int32_t> ParseRanks(std::string_view text);

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_DUMP_H_
