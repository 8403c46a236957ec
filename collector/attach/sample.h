// SPDX-License-Identifier: Apache-2.0
// Samples the ranks of a job: stacks, CPU times, states. Reads /proc and memory; see
// collector/live/live_stack.h for what a rank may notice.
#ifndef ROLLCALL_COLLECTOR_ATTACH_SAMPLE_H_
#define ROLLCALL_COLLECTOR_ATTACH_SAMPLE_H_

#include <chrono>
#include <functional>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/base/proc_source.h"
#include "collector/live/live_stack.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::attach {

struct SampleOptions {
  std::chrono::milliseconds between{1000};  // minimum time between the two samples of a rank
  // Keep the integers of Python frames. (Changes of a frame's variables are detected without, too.)
  bool integers = true;
  // Called after all first samples and before all second ones. The caller may wait here for other
  // hosts. Ranks that do not move between their samples, on all hosts, then stood still at one
  // common moment.
  std::function<void()> after_first = {};
};

ThreadSample ThreadSampleOf(const LiveThread& thread, Symbolizer* symbolizer);

// Samples each rank twice, in the order of `job.ranks`.
std::vector<ObservedRank> SampleTwice(const ProcSource& proc, const FoundJob& job,
                                      const SampleOptions& options);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_SAMPLE_H_
