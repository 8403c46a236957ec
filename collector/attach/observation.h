// What two looks at a rank saw. Plain data.
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

// A call that a function of the stack makes somewhere: one for each function that is inlined there,
// and for the one that holds the code.
struct NearbyCall {
  std::string callee;  // empty: not known
  std::string function;
  std::string file;
  int line = 0;
};

struct ThreadLook {
  pid_t tid = 0;
  std::string name;
  std::vector<LiveFrame> frames;  // innermost first; empty: could not be taken
  bool whole = false;             // to the outermost one
  // Of all registers and of the whole stack, 0: unknown. Equal at two looks of a thread that runs,
  // it does the same over and over.
  uint64_t digest = 0;
  std::vector<uint64_t> more_digests{};  // of one that computes: at moments that follow
  std::string detail;                    // why there are no frames, or not all
  // In MPI, of the thread that tells most (standing.h), as far as the library's objects could be
  // read.
  std::optional<LibraryCall> call{};
  std::vector<NearbyCall> nearby{};  // of one that sleeps for a time: of the function that does so
};

struct RankLook {
  std::optional<ProcessState> state;  // none: the process is gone, or may not be seen
  std::vector<ThreadLook> threads;    // the main thread first
  // What those threads could do that are not the one which tells most (standing.h).
  OtherThreads other_threads = OtherThreads::kUnseen;
  std::optional<uint64_t> io_bytes;  // ReadIoBytes()
  std::string error;                 // why there are no stacks, with the setting that allows them
  // The main threads of its helpers (JobRank::helpers), where it waits for a data loader;
  // of the second look only.
  std::vector<ThreadLook> helpers;
};

// A process that left a core file instead of being there.
struct CoreEnd {
  std::string file;    // its name
  int signal = 0;      // that wrote the core; 0: none did
  bool fault = false;  // the process caused the signal itself: a crash, not a watchdog's
};

struct ObservedRank {
  JobRank rank;
  RankLook first;
  RankLook second;
  std::string host = {};  // where it runs; empty: where the others of it do
  // Then there was one look, `second`, without a state; of a fault, with the thread that caused it
  // first.
  std::optional<CoreEnd> core{};
};

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_OBSERVATION_H_
