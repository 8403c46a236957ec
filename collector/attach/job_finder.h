// The distributed jobs whose ranks run on this machine, found by their processes' environments.
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
  uint64_t start_ticks = 0;  // with the pid it names the process for good
  std::string name;          // of the program
  std::string executable;    // its path; empty: unknown
  // Processes that it started and that have its environment: data loader workers, say.
  std::vector<pid_t> helpers;
  // False: it has not loaded MPI, NCCL, PyTorch or Gloo, and is not linked statically. It may be a
  // shell in front of the rank.
  bool communicates = true;
};

struct FoundJob {
  std::string launcher;  // "Open MPI"
  std::string job;       // what tells it from others of that launcher
  int32_t size = -1;     // of the world; -1: unknown
  // The launcher says that all ranks are on this node.
  bool all_local = false;
  std::vector<JobRank> ranks;  // by rising rank, each once
  std::vector<pid_t> others;   // who started them: launchers, shells; rising
};

struct FoundJobs {
  std::vector<FoundJob> jobs;  // by the lowest pid of their ranks
  size_t hidden = 0;           // processes of that user whose environment may not be read
};

// Which ranks count; empty: any.
struct RankFilter {
  std::string slurm_job = {};
  // Those that do not tell their node count, too.
  std::string slurm_node = {};
};

// Of the processes of `user`, or of all users if that is 0. What a process put into its environment
// after its start (Ray, torch.multiprocessing) is read from its memory if it has loaded a library
// for communication. Reads /proc; stops nobody.
FoundJobs FindJobs(const ProcSource& proc, uid_t user, const RankFilter& filter = {});

// The launcher names the job by the process that started its ranks alone: otherwise on each node.
bool IsToldByParent(const FoundJob& job);

// The environment as a process has it, or had it at last: what libc's `environ` points to, each
// variable ended by a NUL. Empty if it cannot be found. `file_root`: see FindExports().
std::string EnvironmentInMemory(const ProcessImage& image, const std::string& file_root);

// The same of a process; empty if its memory may not be read. Reads its memory and stops nobody.
std::string EnvironmentNow(const ProcSource& proc, pid_t pid);

// The files that the process has mapped; none if it may not be looked at.
std::set<std::string> MappedFiles(const ProcSource& proc, pid_t pid);

// Is the file part of a library by which ranks talk: MPI, NCCL, PyTorch, Gloo?
bool IsCommunicationLibrary(const std::string& path);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JOB_FINDER_H_
