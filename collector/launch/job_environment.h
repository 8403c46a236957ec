// SPDX-License-Identifier: Apache-2.0
// The environment that a job runs in: the variables that `rollcall run` sets, and the way in which
// they reach ranks on other nodes.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_JOB_ENVIRONMENT_H_
#define ROLLCALL_COLLECTOR_LAUNCH_JOB_ENVIRONMENT_H_

#include <map>
#include <string>
#include <vector>

namespace rollcall {

// OwnPath(): the absolute path of this program. PreloadLibrary(): the path of the librollcall.so
// that belongs to it (beside it in the build tree, or below the same prefix); empty if it does not
// exist. SteeringLibrary(): librollcall-steer.so beside it.
std::string OwnPath();
// The path of another of rollcall's programs, in the same directory as this one.
std::string Program(const char* name);
std::string PreloadLibrary();
std::string SteeringLibrary();

// The host name as the shim reports it: gethostname(2).
std::string HostName();

struct JobSettings {
  std::string run_directory;
  std::string collector;  // HOST:PORT
  std::string token;
  bool stacks = true;
  std::string data = {};  // env::kData and env::kDataScope; empty: not set
  std::string data_scope = {};
  std::string steer = {};            // env::kSteer; empty: the run is not steered
  std::vector<std::string> command;  // the launcher's command line
  // Whether the kernel reports to this node's agent how a rank ended (EndReports).
  bool kernel_reports_ends = false;
};

// Returns `current` with the variables that the job needs. Existing values are kept: LD_PRELOAD and
// ASAN_OPTIONS are extended, and an Open MPI fork agent or NCCL profiler that the user has set is
// left alone. `notes` receives lines for the user about what could not be set up.
//
// Open MPI's fork agent is set unless all ranks are on this node and the kernel reports how they
// end.
//
// Open MPI passes OMPI_… variables to remote nodes, but no ROLLCALL_… variables (seen with 4.1.4).
// Each ROLLCALL_… variable is therefore also set as OMPI_ROLLCALL_…. On every node, Open MPI runs
// `rollcall exec` as its fork agent, and `rollcall exec` renames the variables back. The variables
// travel in Open MPI's own messages, not on a command line.
std::map<std::string, std::string> JobEnvironment(std::map<std::string, std::string> current,
                                                  const JobSettings& settings,
                                                  std::vector<std::string>* notes);

std::map<std::string, std::string> CurrentEnvironment();
// Each variable as "NAME=value".
std::vector<std::string> EnvironmentLines(const std::map<std::string, std::string>& environment);

// For `rollcall exec`: sets ROLLCALL_X to the value of OMPI_ROLLCALL_X if ROLLCALL_X is not set.
void AdoptLauncherEnvironment();
// For `rollcall exec`: puts librollcall.so first in LD_PRELOAD unless it is listed there, and makes
// it NCCL's profiler unless one is set.
void PreloadIntoThisEnvironment();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_JOB_ENVIRONMENT_H_
