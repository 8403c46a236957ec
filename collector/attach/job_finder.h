// SPDX-License-Identifier: Apache-2.0
// Finds the distributed jobs whose ranks run on this machine, by their processes' environments.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JOB_FINDER_H_
#define ROLLCALL_COLLECTOR_ATTACH_JOB_FINDER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "collector/base/proc_source.h"
#include "collector/live/process_image.h"

namespace rollcall::attach {

struct JobRank {
  int32_t rank = -1;
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // with the pid, identifies the process uniquely
  std::string name;          // the program's
  std::string executable;    // path of the program; empty: unknown
  // Processes that the rank started and that inherited its environment, such as data loader
  // workers.
  std::vector<pid_t> helpers;
  // False: the process has not loaded MPI, NCCL, PyTorch or Gloo, and is not linked statically. It
  // may be a shell that started the rank.
  bool communicates = true;
};

struct FoundJob {
  std::string launcher;  // "Open MPI"
  std::string job;       // distinguishes the job from other jobs of that launcher
  int32_t size = -1;     // of MPI_COMM_WORLD or the like; -1: unknown
  // The launcher's variables show that all ranks are on this node.
  bool all_local = false;
  std::vector<JobRank> ranks;  // in ascending order, each rank once
  std::vector<pid_t> others;   // processes that started the ranks (launchers, shells); ascending
};

struct FoundJobs {
  std::vector<FoundJob> jobs;  // ordered by the lowest pid of their ranks
  size_t hidden = 0;           // processes of that user whose environment is not readable
};

// Selects ranks. An empty field selects any.
struct RankFilter {
  std::string slurm_job = {};
  // Also selects ranks whose environment does not name a node.
  std::string slurm_node = {};
};

// Finds jobs among the processes of `user`, or of all users if that is 0. Variables that a process
// set after its start (Ray, torch.multiprocessing) are read from its memory if it has loaded a
// communication library. Reads /proc and process memory; stops no process.
FoundJobs FindJobs(const ProcSource& proc, uid_t user, const RankFilter& filter = {});

// Whether the launcher identifies the job only by the process that started its ranks. That is a
// different process on each node.
bool IsIdentifiedByParent(const FoundJob& job);

// The current environment of a process, or its last environment in a core file. This is the memory
// that libc's `environ` points to, with each variable ended by a NUL. Empty if it cannot be found.
// `file_root`: see FindExports().
std::string EnvironmentInMemory(const ProcessImage& image, const std::string& file_root);

// The same for a running process; empty if its memory is not readable. Stops no process.
std::string EnvironmentNow(const ProcSource& proc, pid_t pid);

// The files that the process has mapped; empty if access is denied.
std::set<std::string> MappedFiles(const ProcSource& proc, pid_t pid);

// Whether the file belongs to a communication library: MPI, NCCL, PyTorch, Gloo.
bool IsCommunicationLibrary(const std::string& path);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JOB_FINDER_H_
