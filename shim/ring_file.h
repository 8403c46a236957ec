// SPDX-License-Identifier: Apache-2.0
// Creates the process' flight-recorder file: its location, size and layout.
#ifndef ROLLCALL_SHIM_RING_FILE_H_
#define ROLLCALL_SHIM_RING_FILE_H_

#include <cstdint>

#include "proto/ring_format.h"

namespace rollcall::shim {

// How the bytes of the file are divided among its sections. Only PlanLayout computes it.
struct Layout {
  uint64_t file_bytes = 0;
  uint64_t threads = 0;
  uint64_t members = 0;
  uint64_t requests = 0;
  uint64_t channels = 0;
  uint64_t peer_counts = 0;
  uint64_t gpu_slots = 0;
  uint64_t modules = 0;
  uint64_t datatypes = 0;
  uint64_t string_bytes = 0;
  uint64_t call_path_words = 0;
  uint64_t python_codes = 0;
  uint64_t marks = 0;
  uint64_t data_records = 0;
  uint64_t data_members = 0;
  uint64_t values = 0;
  uint64_t ring_slots = 0;
};

inline constexpr uint64_t kSmallestFileBytes = 512u << 10;

// The optional contents of the file.
struct RingContents {
  // The process has an interpreter. Its code objects, mostly their line tables, need space. If
  // false, a small space is reserved in case the program loads an interpreter later.
  bool python = false;
  bool marks = false;  // devices will write into the file, on pages that hold nothing else
  bool data = false;   // the data of collectives is read: a fifth of the file
};

// `bytes` is at least kSmallestFileBytes; the sections take at most that many.
Layout PlanLayout(uint64_t bytes, const RingContents& contents = {});

struct RingFile {
  ring::FileHeader* header = nullptr;  // the mapping; nullptr if there is none
  Layout layout;
  const char* refused = nullptr;  // the reason if there is no mapping, for one line on stderr
};

// All inputs of the file's creation, so that tests can supply their own.
struct RingFileRequest {
  const char* run_directory;  // exists already, unless it is the default one
  uint64_t wanted_bytes;      // with `data`, a quarter more
  uint64_t ranks_on_node;     // 0 if unknown
  const char* file_name;
  RingContents contents = {};
};

// Maps a new file that is zeroed except for the header's layout fields; `magic` is not yet written.
// Makes system calls. Leaves no descriptor open, except one of a memfd, by which other processes
// find the memfd (proto/run_directory.h). Reports failures only in RingFile::refused.
//
// The places are tried in this order:
//   1. a file in the run directory, if the directory is in a memory file system and 1/16 of its
//      free space is enough for all ranks of the node
//   2. a memfd that is handed to the agent; the agent may be reachable even if the run directory is
//      not visible
//   3. no file
// RLIMIT_FSIZE is checked first, because a larger file kills the process (SIGXFSZ), also a memfd.
RingFile CreateRingFile(const RingFileRequest& request);

// Reports to the agent of the run directory, if there is one, that this process is not recorded.
void ReportRefused(const char* run_directory, const char* reason);

// Sets magic: from now on the file is valid for readers.
void PublishRingFile(ring::FileHeader* header);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_RING_FILE_H_
