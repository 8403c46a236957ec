// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/open_mpi.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "collector/base/find.h"
#include "collector/launch/job_environment.h"

namespace rollcall {
namespace {

// Prefixes of variables that are MCA parameters: Open MPI's, and PRRTE's own.
constexpr std::string_view kParameters[] = {"OMPI_MCA_", "PRTE_MCA_"};

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <size_t kCount>
bool Contains(const std::string_view (&list)[kCount], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

bool IsLauncher(std::string_view word) {
  constexpr std::string_view kNames[] = {"mpirun",          "mpiexec", "orterun", "mpirun.openmpi",
                                         "mpiexec.openmpi", "oshrun",  "prterun"};
  return Contains(kNames, BaseName(word));
}

// Programs that run the command in their arguments. The command has the same environment, except
// for changes that `env` makes.
bool IsWrapper(std::string_view word) {
  constexpr std::string_view kNames[] = {"env",    "nice",    "ionice", "timeout", "time",
                                         "stdbuf", "taskset", "setsid", "numactl"};
  return Contains(kNames, BaseName(word));
}

bool IsParameter(std::string_view variable) {
  return std::ranges::any_of(
      kParameters, [variable](std::string_view prefix) { return variable.starts_with(prefix); });
}

// Whether an MCA parameter may add hosts to a job, or change how they are started.
bool MayBringHosts(std::string_view parameter) {
  constexpr std::string_view kParts[] = {"host",        "rankfile", "rank_file",
                                         "ras",         "plm",      "launch_agent",
                                         "param_files", "env_list", "simulator"};
  return std::ranges::any_of(kParts, [parameter](std::string_view part) {
    return parameter.find(part) != std::string_view::npos;
  });
}

// Whether a word is an option of mpirun (with one dash or two) that adds hosts, or that names a
// file that may add hosts.
bool IsHostOption(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  word.remove_prefix(word[1] == '-' ? 2 : 1);
  constexpr std::string_view kOptions[] = {
      "H",        "host",         "hostfile", "machinefile", "default-hostfile",
      "add-host", "add-hostfile", "rf",       "rankfile",    "app",
      "am",       "tune",         "hnp",      "dvm",         "launch-agent"};
  return Contains(kOptions, word);
}

// Whether a value of `-H` names only this node. Its hosts are separated by commas, each with an
// optional colon and number of slots.
bool IsThisNode(const std::string& hosts) {
  for (size_t begin = 0; begin <= hosts.size();) {
    const size_t end = std::min(hosts.find(',', begin), hosts.size());
    const std::string host = hosts.substr(begin, std::min(end, hosts.find(':', begin)) - begin);
    if (host != "localhost" && host != "127.0.0.1" && host != HostName()) return false;
    begin = end + 1;
  }
  return true;
}

// Checks the whole line, including the program's own arguments: a false match only causes an
// unneeded fork agent.
bool NamesHosts(const std::vector<std::string>& command) {
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (word.find("LD_PRELOAD") != std::string_view::npos) return true;
    const bool list = word == "-H" || word == "-host" || word == "--host";
    const bool here = list && i + 1 < command.size() && IsThisNode(command[i + 1]);
    if (IsHostOption(word) && !here) return true;
    if (IsParameter(word) && MayBringHosts(word)) return true;
    const bool parameter =
        word.ends_with("-mca") || word.ends_with("-gmca") || word.ends_with("-prtemca");
    if (parameter && i + 1 < command.size() && MayBringHosts(command[i + 1])) return true;
  }
  return false;
}

// Whether a variable shows a resource manager that Open MPI supports (orte/mca/ras).
bool IsOfResourceManager(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "SLURM_JOBID",          "SLURM_JOB_ID", "PBS_JOBID",       "PBS_ENVIRONMENT",
      "PBS_NODEFILE",         "LSB_JOBID",    "PE_HOSTFILE",     "LOADLBATCH",
      "BASIL_RESERVATION_ID", "COBALT_JOBID", "OMPI_ALPS_RESID", "BATCH_PARTITION_ID"};
  return Contains(kNames, name);
}

// Whether any line of the file that is not a comment passes `test`; false if the file does not
// exist.
template <typename Test>
bool HasLine(const std::string& path, Test test) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin != std::string::npos && line[begin] != '#' && test(line)) return true;
  }
  return false;
}

// The non-empty directories of a colon-separated list.
std::vector<std::string> Directories(const std::string& list) {
  std::vector<std::string> directories;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) directories.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return directories;
}

// The path of the launcher; empty if it is not found in PATH.
std::string LauncherFile(const std::string& launcher, const std::string& path) {
  std::vector<std::string> candidates = {launcher};
  if (launcher.find('/') == std::string::npos) {
    candidates = Directories(path);
    for (std::string& candidate : candidates) candidate.append("/").append(launcher);
  }
  for (const std::string& candidate : candidates) {
    char resolved[PATH_MAX];
    if (access(candidate.c_str(), X_OK) == 0 && realpath(candidate.c_str(), resolved) != nullptr) {
      return resolved;
    }
  }
  return "";
}

bool IsElfFile(const std::string& path) {
  char magic[SELFMAG] = {};
  std::ifstream(path, std::ios::binary).read(magic, SELFMAG);
  return memcmp(magic, ELFMAG, SELFMAG) == 0;
}

// Directories in /etc where distributions keep the installation's configuration: Debian's
// /etc/openmpi (also PRRTE's), Fedora's /etc/openmpi-x86_64.
std::vector<std::string> SystemDirectories() {
  std::vector<std::string> directories;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/etc", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("openmpi")) directories.push_back(entry.path().string() + "/");
  }
  return directories;
}

// Checks the configuration files of the user and of the installation. `file`: the launcher's path.
bool ConfigurationNamesHosts(const std::string& file,
                             const std::map<std::string, std::string>& environment) {
  const std::string prefix = file.substr(0, file.rfind("/bin/") + 1);
  const std::string home = FindOr(environment, "HOME", "");
  std::vector<std::string> parameters = {home + "/.openmpi/mca-params.conf",
                                         home + "/.prte/mca-params.conf"};
  std::vector<std::string> hostfiles;
  std::vector<std::string> directories = SystemDirectories();
  directories.push_back(prefix + "etc/");
  for (const std::string& etc : directories) {
    for (const char* of : {"openmpi", "prte"}) {
      parameters.push_back(etc + of + "-mca-params.conf");
      hostfiles.push_back(etc + of + "-default-hostfile");
    }
  }
  return std::ranges::any_of(
             parameters, [](const std::string& path) { return HasLine(path, MayBringHosts); }) ||
         std::ranges::any_of(hostfiles, [](const std::string& path) {
           return HasLine(path, [](const std::string&) { return true; });
         });
}

bool IsRunnable(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & S_IXUSR) != 0;
}

// A directory of PATH as Open MPI interprets it: a leading variable is expanded.
std::string Expanded(const std::string& directory) {
  if (directory[0] != '$') return directory;
  const size_t end = std::min(directory.find('/'), directory.size());
  const char* value = getenv(directory.substr(1, end - 1).c_str());
  return value == nullptr ? "" : value + directory.substr(end);
}

}  // namespace

bool StaysOnThisNode(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment) {
  const auto launcher = std::ranges::find_if(command, IsLauncher);
  if (launcher == command.end() || NamesHosts(command)) return false;
  if (launcher != command.begin() && !IsWrapper(command.front())) return false;
  for (const auto& [name, value] : environment) {
    if (IsOfResourceManager(name)) return false;
    if (IsParameter(name) && MayBringHosts(name)) return false;
  }
  // These variables move the installation's configuration.
  for (const char* moved : {"OPAL_PREFIX", "OPAL_SYSCONFDIR", "PRTE_PREFIX", "PRTE_SYSCONFDIR"}) {
    if (environment.contains(moved)) return false;
  }
  const std::string file = LauncherFile(*launcher, FindOr(environment, "PATH", ""));
  return IsElfFile(file) && !ConfigurationNamesHosts(file, environment);
}

std::string FileOfOpenMpi(const std::string& program) {
  if (getenv("OMPI_MCA_orte_launch") == nullptr && getenv("PRTE_LAUNCHED") == nullptr) return "";
  if (program.find('/') != std::string::npos) return program;
  const char* first = getenv("OMPI_exec_path");
  const char* path = getenv("PATH");
  std::vector<std::string> directories =
      Directories(std::string(first != nullptr ? first : "") + ":" + (path != nullptr ? path : ""));
  char here[PATH_MAX];
  if (getcwd(here, sizeof(here)) != nullptr) {
    if (std::ranges::find(directories, ".") == directories.end()) {
      directories.emplace_back(here);
    }
    std::replace(directories.begin(), directories.end(), std::string("."), std::string(here));
  }
  for (const std::string& entry : directories) {
    const std::string directory = Expanded(entry);
    if (directory.empty()) continue;
    std::string file = directory[0] == '/' ? "" : "./";
    file.append(directory).append("/").append(program);
    if (IsRunnable(file)) return file;
  }
  return "";
}

std::string RankIndex(const std::string& own) {
  const size_t dash = own.rfind('-');
  if (dash == std::string::npos || dash + 1 == own.size()) return "";
  const std::string index = own.substr(dash + 1);
  const bool digits = index.find_first_not_of("0123456789") == std::string::npos;
  return digits ? own.substr(dash) : "";
}

}  // namespace rollcall
