// SPDX-License-Identifier: Apache-2.0
// Joins the observations of a job on several hosts.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JOB_STACKS_H_
#define ROLLCALL_COLLECTOR_ATTACH_JOB_STACKS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/attach/stacks.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall::attach {

struct JobStacks {
  FoundJob job;                     // with the ranks that were observed
  std::vector<ObservedRank> ranks;  // ascending, each rank once, with their hosts
  std::vector<SourceBlocks> sources;
  // Readable notes: hosts without a rank of the job, hosts that did not answer, ranks found on two
  // hosts.
  std::vector<std::string> notes;
};

// Returns one entry per job, ordered by the first host that has it. Hosts without ranks count as
// possible hosts of missing ranks. A job that is identified by its parent process (MPICH) has a
// different name on each host, so such jobs are joined by launcher and size. Pure.
std::vector<JobStacks> JoinHosts(const std::vector<HostStacks>& hosts);

// "Open MPI, ranks 0-3 of 4: ./solver (processes 4711, 4712, …)"
std::string JobText(const FoundJob& job);

struct JudgedStacks {
  Trace trace;  // with its sources
  Report report;
};

// Reads source files that no host could read, if they exist on this machine.
JudgedStacks JudgeStacks(const JobStacks& stacks);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JOB_STACKS_H_
