// What `attach` saw on one host, and the text that holds it (stacks.md): a node sends it to whoever
// judges, and a bundle keeps it.
#ifndef ROLLCALL_COLLECTOR_ATTACH_STACKS_H_
#define ROLLCALL_COLLECTOR_ATTACH_STACKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/model/problem.h"
#include "collector/model/source_blocks.h"
#include "collector/model/trace.h"

namespace rollcall::attach {

// Everything that StandingsOf() and Judge() take.
struct HostStacks {
  std::string host;
  std::string absent = {};        // why no rank of it is here, for a person; empty: they are here
  int64_t taken_at_ns = kNoTime;  // of the host's CLOCK_REALTIME
  FoundJob job = {};
  std::vector<ObservedRank> ranks = {};  // by rising rank
  std::vector<SourceBlocks> sources =
      {};                    // of the user's files, as far as the host could read them
  bool has_rings = false;    // where a node answers: its ranks record their calls (records.h)
  std::string records = {};  // if they were asked for: a bundle of what they recorded; untrusted
};

inline constexpr uint32_t kStacksVersion = 1;
inline constexpr size_t kMaxStacksBytes = 64 << 20;        // of a text; a reader takes no more
inline constexpr size_t kMaxRecordsBytes = 24 << 20;       // of HostStacks::records
inline constexpr size_t kMaxFrameBytes = size_t{1} << 30;  // of the stacks of a text, in memory

// Lines of JSON in ASCII. `rollcall` is the version that writes it.
std::string WriteStacks(const HostStacks& stacks, std::string_view rollcall);

// Reads what may come from anybody: memory and time are bounded by the size of `text`, and strings
// are cleaned for terminals. What is wrong is added to `problems`, with `source` and the byte of
// the line; the ranks of other lines are still there. Then the job counts as one that may have
// ranks elsewhere. Throws std::bad_alloc only.
HostStacks ReadStacks(std::string_view text, const std::string& source,
                      std::vector<Problem>* problems, size_t max_frame_bytes = kMaxFrameBytes);

// Looks up once more, in the files of this machine that have the build ids, of which functions and
// lines the hosts knew less than their lines. File I/O; see Symbolizer for what paths may be.
void SymbolizeHere(std::vector<HostStacks>* hosts);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_STACKS_H_
