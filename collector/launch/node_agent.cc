// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/node_agent.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "collector/launch/job_environment.h"
#include "collector/launch/run_root.h"
#include "proto/environment.h"

namespace rollcall {
namespace {

// The parent directory is the run root of the first node: it is made here under the same name.
bool MakeRunDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) mkdir(path.substr(0, slash).c_str(), 0700);
  return static_cast<bool>(RunRoot::CreateAt(path));
}

// Launchers bind each rank to one core. An agent with the rank's affinity would take time from that
// rank, and would get no time while several ranks spin on the core. The agent therefore gets the
// launcher's affinity.
void RunWhereLauncherMay(pid_t launcher) {
  std::array<cpu_set_t, 8> cpus{};  // 8,192 CPUs
  if (sched_getaffinity(launcher, sizeof(cpus), cpus.data()) == 0) {
    sched_setaffinity(0, sizeof(cpus), cpus.data());
  }
}

}  // namespace

void EnsureNodeAgent(const std::string& run_directory) {
  const char* collector = getenv(env::kCollector);
  if (collector == nullptr || collector[0] == '\0') return;
  struct stat status;
  if (stat(run_directory.c_str(), &status) != 0 && !MakeRunDirectory(run_directory)) return;
  if (RunRoot::HasAgent(run_directory)) return;
  const std::string own = Program("rollcall");
  const pid_t launcher = getppid();
  const pid_t child = fork();
  if (child == 0) {
    // Forks twice, so that the agent is no child of this process. A session of its own protects the
    // agent from hang-ups and from signals to the job's process groups.
    setsid();
    if (fork() != 0) _exit(0);
    const int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
      for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    }
    close_range(3, ~0U, 0);
    RunWhereLauncherMay(launcher);
    if (chdir("/") != 0) _exit(1);
    unsetenv("LD_PRELOAD");
    execl(own.c_str(), own.c_str(), "agent", "--dir", run_directory.c_str(), nullptr);
    _exit(1);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

}  // namespace rollcall
