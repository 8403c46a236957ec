// Looks at the ranks of a job: stacks, CPU times, states. Reads /proc and memory; see
// collector/live/live_stack.h for what a rank may notice.
#ifndef ROLLCALL_COLLECTOR_ATTACH_LOOK_H_
#define ROLLCALL_COLLECTOR_ATTACH_LOOK_H_

#include <chrono>
#include <functional>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/base/proc_source.h"
#include "collector/live/live_stack.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::attach {

struct LookOptions {
  std::chrono::milliseconds between{1000};  // from a rank's first look to its second, at least
  // Keep the integers of Python frames. (That a frame's variables changed is seen without, too.)
  bool integers = true;
  // Called between all first looks and all second ones. Ranks elsewhere may be waited for here:
  // what stands still between its looks, on all hosts, stood so at one time.
  std::function<void()> after_first = {};
};

ThreadLook ThreadLookOf(const LiveThread& thread, Symbolizer* symbolizer);

// Two looks at each rank, in the order of `job.ranks`.
std::vector<ObservedRank> LookTwice(const ProcSource& proc, const FoundJob& job,
                                    const LookOptions& options);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_LOOK_H_
