// Where each rank of a job stands, by two looks at it. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_STANDING_H_
#define ROLLCALL_COLLECTOR_ATTACH_STANDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/frame_meaning.h"
#include "collector/attach/observation.h"
#include "collector/live/activity.h"
#include "collector/model/trace.h"

namespace rollcall::attach {

enum class Stillness : uint8_t {
  kAsleep,   // it did not run between the looks
  kSame,     // it ran, and nothing on its stack has changed from the user's frames outwards
  kMoved,    // something has
  kUnknown,  // its stack could not be taken both times
};

// The integers of a Python frame.
struct FrameVariables {
  SourceFrame frame;
  std::vector<PythonInteger> integers;
};

struct RankStanding {
  int32_t rank = -1;
  uint32_t process = kNoIndex;    // into Trace::processes
  StackMeaning meaning;           // of the thread that tells most: see below
  uint32_t call_path = kNoIndex;  // of the caller of meaning.call; else of the whole stack
  Stillness stillness = Stillness::kUnknown;
  Pace pace = Pace::kUnknown;
  bool gone = false;        // it had ended at the first look, or a fault ended it
  bool timed = false;       // it sleeps for a time, and will go on by itself
  bool ended = false;       // between the looks
  bool no_library = false;  // it has loaded none to talk with other ranks by
  bool denied = false;      // it may not be looked at, for `problem`
  // Another thread of it may act at any time, or could not be seen.
  bool may_act = false;
  bool in_kernel = false;  // in an uninterruptible wait at both looks
  std::string state;       // "running", "sleeping in read"
  std::string problem;     // why its stack could not be taken
  std::string fault;       // with `gone`, of a core: "SIGSEGV", "abort()"
  // Of the Python frames of the user's that are behind the call, outermost first.
  std::vector<FrameVariables> variables;
  LibraryCall call;  // by both looks
  // With `timed`: the function that sleeps, those that are inlined there first, and the calls that
  // it makes.
  std::vector<SourceFrame> sleeper;
  std::vector<NearbyCall> nearby;
  // Where those stand that it may wait for: workers of its data loader, or, on its way out, its
  // threads. "process 4711 is in __getitem__ (loader.py:20)"
  std::vector<std::string> awaited;
};

struct Standings {
  Trace trace;                      // a process for each rank, with its stacks; no events
  std::vector<RankStanding> ranks;  // as the ranks were observed
  // Seen from core files: one look each, not all of one moment. Whether a rank still moved is not
  // known, and no standing says that it moved or did not.
  bool cores = false;
};

// The thread that tells most of what the rank waits for: the main thread, or the first one inside
// MPI, NCCL or torch.distributed if that one is not. Null if it has no stack.
const ThreadLook* Representative(const RankLook& look, StackMeaning* meaning);

// Whether only a library for communication has frames in the thread: it makes none of the
// application's calls.
bool IsOfLibrary(const ThreadLook& thread);

// A rank's stack is that of Representative(). The trace holds all threads as live stacks. `host` is
// that of the ranks which name none.
Standings StandingsOf(const FoundJob& job, const std::string& host,
                      const std::vector<ObservedRank>& observed);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_STANDING_H_
