// The place of each rank of a job, from two samples of it. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_RANK_STATE_H_
#define ROLLCALL_COLLECTOR_ATTACH_RANK_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/frame_meaning.h"
#include "collector/attach/observation.h"
#include "collector/live/activity.h"
#include "collector/model/trace.h"

namespace rollcall::attach {

enum class Stillness : uint8_t {
  kAsleep,   // it did not run between the samples
  kSame,     // it ran, but its stack is unchanged from the user's frames outwards
  kMoved,    // its stack has changed
  kUnknown,  // its stack could not be taken in both samples
};

// The integers of a Python frame.
struct FrameVariables {
  SourceFrame frame;
  std::vector<PythonInteger> integers;
};

struct RankState {
  int32_t rank = -1;
  uint32_t process = kNoIndex;    // into Trace::processes
  StackMeaning meaning;           // of the representative thread: see Representative()
  uint32_t call_path = kNoIndex;  // of the caller of meaning.call, or else the whole stack
  Stillness stillness = Stillness::kUnknown;
  ActivityLevel activity_level = ActivityLevel::kUnknown;
  bool gone = false;        // it had ended at the first sample, or by a fault
  bool timed = false;       // it is in a timed sleep and will continue by itself
  bool ended = false;       // it ended between the samples
  bool no_library = false;  // it has loaded no communication library
  bool denied = false;      // access is denied; the reason is in `problem`
  // Another of its threads may act at any time, or could not be read.
  bool may_act = false;
  bool in_kernel = false;  // in an uninterruptible wait in both samples
  std::string state;       // "running", "sleeping in read"
  std::string problem;     // why its stack could not be taken
  std::string fault;       // if `gone`, from a core: "SIGSEGV", "abort()"
  // The variables of the user's Python frames behind the call, outermost first.
  std::vector<FrameVariables> variables;
  LibraryCall call;  // from both samples
  // If `timed`: the function that sleeps, after the functions inlined into it, and the calls that
  // it makes.
  std::vector<SourceFrame> sleeper;
  std::vector<NearbyCall> nearby;
  // The places of processes or threads that it may wait for: workers of its data loader, or, if it
  // is exiting, its threads. "process 4711 is in __getitem__ (loader.py:20)"
  std::vector<std::string> awaited;
};

struct RankStates {
  Trace trace;                   // one process per rank, with its stacks; no events
  std::vector<RankState> ranks;  // in the order of the observed ranks
  // From core files: one sample each, at different moments. Whether a rank was moving is unknown,
  // and no rank state says that it was or was not.
  bool cores = false;
};

// The thread that shows best what the rank waits for: the main thread, or the first one inside MPI,
// NCCL or torch.distributed if the main thread is in none. Null if it has no stack.
const ThreadSample* Representative(const RankSample& sample, StackMeaning* meaning);

// Whether only a communication library has frames in the thread: it makes none of the application's
// calls.
bool IsOfLibrary(const ThreadSample& thread);

// A rank's stack is that of Representative(). The trace holds all threads as live stacks. `host` is
// the host of the ranks that name none.
RankStates RankStatesOf(const FoundJob& job, const std::string& host,
                        const std::vector<ObservedRank>& observed);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RANK_STATE_H_
