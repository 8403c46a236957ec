// SPDX-License-Identifier: Apache-2.0
// Chooses the job to look at among those that were found.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JOB_CHOICE_H_
#define ROLLCALL_COLLECTOR_ATTACH_JOB_CHOICE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "collector/attach/cores.h"
#include "collector/attach/job_finder.h"
#include "collector/base/proc_source.h"

namespace rollcall::attach {

struct Choice {
  const FoundJob* job = nullptr;      // of the found jobs; null: there is no single matching job
  std::vector<std::string> why = {};  // messages for the user, one per line
};

// Chooses a job by the pid of one of its processes (0: any) and by its name or program (empty:
// any). Reads /proc only for its messages.
Choice Choose(const ProcSource& proc, const FoundJobs& found, pid_t pid, const std::string& name);

// Chooses the single job that left cores in `directory`.
Choice Choose(const FoundCores& found, const std::string& directory);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JOB_CHOICE_H_
