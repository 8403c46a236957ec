// SPDX-License-Identifier: Apache-2.0
// The observations of `attach` on one host, and the text format for them (stacks.md). A node sends
// this text to the process that makes the diagnosis, and a bundle stores it.
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

// The input of TraceOfStacks().
struct HostStacks {
  std::string host;
  std::string absent = {};        // readable reason why the host has no rank; empty: it has ranks
  int64_t taken_at_ns = kNoTime;  // on the host's CLOCK_REALTIME
  FoundJob job = {};
  std::vector<ObservedRank> ranks = {};    // in ascending order
  std::vector<SourceBlocks> sources = {};  // of the user's files, where the host could read them
  bool has_rings = false;                  // from a node: its ranks record their calls (records.h)
  std::string records = {};  // if requested: a bundle of the ranks' records; untrusted
};

inline constexpr uint32_t kStacksVersion = 1;
inline constexpr size_t kMaxStacksBytes = 64 << 20;        // of a text; a reader reads no more
inline constexpr size_t kMaxRecordsBytes = 24 << 20;       // of HostStacks::records
inline constexpr size_t kMaxFrameBytes = size_t{1} << 30;  // memory of the stacks of a text

// Writes lines of JSON in ASCII. `rollcall`: the version of the writing program.
std::string WriteStacks(const HostStacks& stacks, std::string_view rollcall);

// Reads untrusted text: memory and time are bounded by the size of `text`, and strings are cleaned
// for terminals. Problems are added to `problems`, with `source` and the offset of the line. The
// ranks of other lines are kept, and the job then counts as one that may have ranks elsewhere.
// Throws std::bad_alloc only.
HostStacks ReadStacks(std::string_view text, const std::string& source,
                      std::vector<Problem>* problems, size_t max_frame_bytes = kMaxFrameBytes);

// Looks up functions and lines that the hosts could not resolve in files of this machine with the
// same build ids. File I/O; see Symbolizer for the possible paths.
void SymbolizeHere(std::vector<HostStacks>* hosts);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_STACKS_H_
