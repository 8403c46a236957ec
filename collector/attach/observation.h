// SPDX-License-Identifier: Apache-2.0
// The results of two samples of a rank. Plain data.
#ifndef ROLLCALL_COLLECTOR_ATTACH_OBSERVATION_H_
#define ROLLCALL_COLLECTOR_ATTACH_OBSERVATION_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/live/library_call.h"
#include "collector/live/live_frames.h"
#include "collector/live/process_state.h"
#include "collector/model/trace.h"

namespace rollcall::attach {

struct ThreadSample {
  pid_t tid = 0;
  std::string name;
  std::vector<LiveFrame> frames;  // innermost first; empty: the stack could not be taken
  bool whole = false;             // complete up to the outermost frame
  // Hash of all registers and of the whole stack; 0: unknown. If it is equal in two samples of a
  // running thread, the thread is repeating itself.
  uint64_t digest = 0;
  std::vector<uint64_t> more_digests{};  // of a computing thread: at later moments
  std::string detail;                    // why frames are missing
  // For the representative thread (trace_of_stacks.h) inside MPI: the data that could be read from
  // the library's objects.
  std::optional<LibraryCall> call{};
  std::vector<NearbyCall> nearby{};  // in a timed sleep: calls of the function that sleeps
};

struct RankSample {
  std::optional<ProcessState> state;  // none: the process has ended, or access is denied
  std::vector<ThreadSample> threads;  // the main thread first
  // What the threads other than the representative one (trace_of_stacks.h) could do.
  OtherThreads other_threads = OtherThreads::kUnseen;
  std::optional<uint64_t> io_bytes;  // ReadIoBytes()
  std::string error;                 // why stacks are missing, with the setting that allows them
  // The main threads of its helpers (JobRank::helpers) if the rank waits for a data loader; only in
  // the second sample.
  std::vector<ThreadSample> helpers;
};

// A process that ended and left a core file.
struct CoreEnd {
  std::string file;    // file name
  int signal = 0;      // the signal that caused the core; 0: none
  bool fault = false;  // the process caused the signal itself: a crash, not a watchdog
};

struct ObservedRank {
  JobRank rank;
  RankSample first;
  RankSample second;
  std::string host = {};  // host name; empty: the host of the other ranks
  // Set for a rank from a core file. There is only one sample, `second`, without a state. After a
  // fault, the thread that caused it comes first.
  std::optional<CoreEnd> core{};
};

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_OBSERVATION_H_
