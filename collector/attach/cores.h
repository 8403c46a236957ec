// SPDX-License-Identifier: Apache-2.0
// Finds the distributed jobs whose ranks left core files in a directory.
#ifndef ROLLCALL_COLLECTOR_ATTACH_CORES_H_
#define ROLLCALL_COLLECTOR_ATTACH_CORES_H_

#include <memory>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/core/core_process.h"

namespace rollcall::attach {

struct RankCore {
  std::string file;  // file name in the directory
  std::unique_ptr<CoreProcess> process;
  std::vector<std::unique_ptr<CoreProcess>> helpers;  // cores of JobRank::helpers
};

struct CoreJob {
  FoundJob job;
  std::vector<RankCore> cores;  // in the order of `job.ranks`
};

struct FoundCores {
  std::vector<CoreJob> jobs;  // ordered by launcher, job and size
  // A line for each core that belongs to no rank or is damaged, and if the directory is unreadable.
  std::vector<std::string> problems;
};

// Reads the regular files in `directory`, whatever their names, but not its subdirectories. Files
// that are not core files are ignored. A core contains the environment at the start of the process,
// so a process is not found as a rank if it set its rank variables (IdentifyRank()) only later.
FoundCores FindCores(const std::string& directory);

// Takes the stacks from the cores, in the order of `job.job.ranks`. `integers`: also read the
// integers of Python frames. `*problems`: the parts that could not be read (threads left out,
// missing modules), each once.
std::vector<ObservedRank> SampleCores(const CoreJob& job, bool integers,
                                      std::vector<std::string>* problems);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_CORES_H_
