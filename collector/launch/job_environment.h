// The environment that a job runs in: what `rollcall run` sets, and how it reaches ranks elsewhere.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_JOB_ENVIRONMENT_H_
#define ROLLCALL_COLLECTOR_LAUNCH_JOB_ENVIRONMENT_H_

#include <map>
#include <string>
#include <vector>

namespace rollcall {

// Absolute path of this program, and of the librollcall.so that belongs to it (beside it in the
// build tree or below the same prefix); empty if it is not there.
std::string OwnPath();
// The path of another of rollcall's programs: it lies beside this one.
std::string Program(const char* name);
std::string PreloadLibrary();

// As the shim says it: gethostname(2).
std::string HostName();

struct JobSettings {
  std::string run_directory;
  std::string collector;  // HOST:PORT
  std::string token;
  bool stacks = true;
  std::vector<std::string> command;  // the launcher's line
  // Whether this node's agent learns from the kernel how a rank ended (EndReports).
  bool kernel_reports_ends = false;
};

// `current` with what the job needs. Everything that was there stays: LD_PRELOAD and ASAN_OPTIONS
// are added to, an Open MPI fork agent or an NCCL profiler of the user's own is left alone. `notes`
// gets lines for the user about what could not be arranged.
//
// Open MPI's fork agent is set unless nothing needs it: where all ranks are on this node, and the
// kernel reports how they end.
//
// Open MPI passes to remote nodes no ROLLCALL_… variable but every OMPI_… one (seen with 4.1.4), so
// each is also set as OMPI_ROLLCALL_…; `rollcall exec`, which Open MPI runs as its fork agent on
// every node, takes them back. They travel inside Open MPI's own messages, not in a command line.
std::map<std::string, std::string> JobEnvironment(std::map<std::string, std::string> current,
                                                  const JobSettings& settings,
                                                  std::vector<std::string>* notes);

std::map<std::string, std::string> CurrentEnvironment();
// "NAME=value" of each.
std::vector<std::string> EnvironmentLines(const std::map<std::string, std::string>& environment);

// In `rollcall exec`: OMPI_ROLLCALL_X becomes ROLLCALL_X where that is not set.
void AdoptLauncherEnvironment();
// In `rollcall exec`: puts librollcall.so first in LD_PRELOAD if it is not in it, and makes it
// NCCL's profiler unless there is one.
void PreloadIntoThisEnvironment();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_JOB_ENVIRONMENT_H_
