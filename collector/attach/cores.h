// The distributed jobs whose ranks left core files in a directory.
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
  std::string file;  // its name in the directory
  std::unique_ptr<CoreProcess> process;
  std::vector<std::unique_ptr<CoreProcess>> helpers;  // of JobRank::helpers
};

struct CoreJob {
  FoundJob job;
  std::vector<RankCore> cores;  // as `job.ranks`
};

struct FoundCores {
  std::vector<CoreJob> jobs;          // by launcher, job and size
  std::vector<std::string> problems;  // a line for each core that is no rank's, or is damaged
};

// Looks at the regular files in `directory`, whatever their names, but not below it. What is no
// core file is not mentioned. A rank that IdentifyRank() does not find in the environment with
// which the process was started may have set it later. `*error` if the directory cannot be read.
FoundCores FindCores(const std::string& directory, std::string* error);

// The stacks in the cores, in the order of `job.job.ranks`. `integers`: of Python frames.
// `*problems`: what stacks could not be taken from, each once.
std::vector<ObservedRank> LookAtCores(const CoreJob& job, bool integers,
                                      std::vector<std::string>* problems);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_CORES_H_
