// Makes the process' flight-recorder file: where it lies, how large it may be, how it is divided.
#ifndef ROLLCALL_SHIM_RING_FILE_H_
#define ROLLCALL_SHIM_RING_FILE_H_

#include <cstdint>

#include "proto/ring_format.h"

namespace rollcall::shim {

// How the file's bytes are shared out. Derived by PlanLayout alone.
struct Layout {
  uint64_t file_bytes = 0;
  uint64_t threads = 0;
  uint64_t members = 0;
  uint64_t requests = 0;
  uint64_t channels = 0;
  uint64_t gpu_slots = 0;
  uint64_t modules = 0;
  uint64_t datatypes = 0;
  uint64_t string_bytes = 0;
  uint64_t call_path_words = 0;
  uint64_t python_codes = 0;
  uint64_t marks = 0;
  uint64_t ring_slots = 0;
};

inline constexpr uint64_t kSmallestFileBytes = 512u << 10;

// `bytes` at least kSmallestFileBytes. The parts sum up to at most `bytes`. `python`: there is an
// interpreter, whose code objects (their line tables, mostly) want room; without one a little is
// left for a program that loads it later. `marks`: devices will write into the file, on pages that
// hold nothing else.
Layout PlanLayout(uint64_t bytes, bool python = false, bool marks = false);

struct RingFile {
  ring::FileHeader* header = nullptr;  // the mapping; nullptr if there is none
  Layout layout;
  const char* refused = nullptr;  // why there is none, for one line on stderr
};

// What the file's making depends on, so that tests can have their own world.
struct RingFileRequest {
  const char* run_directory;  // exists already, unless it is the default one
  uint64_t wanted_bytes;
  uint64_t ranks_on_node;  // 0 if unknown
  const char* file_name;
  bool python = false;
  bool marks = false;
};

// Maps a new file, zeroed but for the header's layout fields; `magic` is not yet written. Makes
// system calls; leaves no descriptor open. Never fails loudly: see RingFile::refused.
//
// The places are tried in this order (docs/shim.md): a file in the run directory,
// if that is a memory file system with room for all ranks of the node in 1/16 of what is free; a
// memfd handed to the agent, which this process may reach where it sees no run directory; nothing.
// RLIMIT_FSIZE is looked at first, for exceeding it kills (SIGXFSZ), memfds too.
RingFile CreateRingFile(const RingFileRequest& request);

// Tells the agent of the run directory, if there is one, that this process is not recorded.
void ReportRefused(const char* run_directory, const char* reason);

// Sets magic: from now on the file is valid for readers.
void PublishRingFile(ring::FileHeader* header);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_RING_FILE_H_
