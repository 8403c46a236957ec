// What several hosts saw of a job, as one job.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JOB_STACKS_H_
#define ROLLCALL_COLLECTOR_ATTACH_JOB_STACKS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/attach/stacks.h"
#include "collector/attach/standing.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall::attach {

struct JobStacks {
  FoundJob job;                     // its ranks are those that were seen
  std::vector<ObservedRank> ranks;  // by rising rank, each once, with their hosts
  std::vector<SourceBlocks> sources;
  // For a person: hosts that have no rank of it, or did not answer; ranks that two hosts have.
  std::vector<std::string> notes;
};

// One for each job, by its first host. Hosts without ranks count as possible places of those that
// are missing. A job that is told by its parent process (MPICH's) has another name on each host:
// launcher and size tell it. Pure.
std::vector<JobStacks> JoinHosts(const std::vector<HostStacks>& hosts);

// "Open MPI, ranks 0-3 of 4: ./solver (processes 4711, 4712, …)"
std::string JobText(const FoundJob& job);

struct JudgedStacks {
  Standings standings;  // with their sources
  Report report;
};

// Reads sources that no host could read, if they are here.
JudgedStacks JudgeStacks(const JobStacks& stacks);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JOB_STACKS_H_
