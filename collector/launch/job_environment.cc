// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/job_environment.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "collector/base/find.h"
#include "collector/launch/open_mpi.h"
#include "proto/environment.h"

namespace rollcall {
namespace {

constexpr char kPreload[] = "LD_PRELOAD";
constexpr char kProfilerPlugin[] = "NCCL_PROFILER_PLUGIN";
constexpr char kAsanOptions[] = "ASAN_OPTIONS";
// GCC's AddressSanitizer ends a program if another library is loaded before its own. The preloaded
// library replaces nothing in its runtime.
constexpr char kAsanAllow[] = "verify_asan_link_order=0";
// A command line, split at blanks, that Open MPI puts in front of each rank's command line: up to
// 4.1 (orte/mca/odls/base), and since 5.0, whose launcher is PRRTE (src/mca/odls/base).
constexpr const char* kForkAgents[] = {"OMPI_MCA_orte_fork_agent", "PRTE_MCA_odls_base_exec_agent"};
constexpr char kOpenMpiPrefix[] = "OMPI_";
constexpr char kOwnPrefix[] = "ROLLCALL_";
constexpr char kLibrary[] = "rollcall/librollcall.so";
constexpr char kSteeringLibrary[] = "rollcall/librollcall-steer.so";

// Blanks and colons both separate LD_PRELOAD's entries (ld.so(8)).
bool IsPreloaded(const std::string& list, const std::string& library) {
  size_t begin = 0;
  while (begin <= list.size()) {
    const size_t end = std::min(list.find_first_of(": ", begin), list.size());
    if (list.compare(begin, end - begin, library) == 0) return true;
    begin = end + 1;
  }
  return false;
}

// NCCL copies at most 254 bytes of the path (src/plugin/plugin_open.cc, MAX_STR_LEN).
constexpr size_t kLongestPlugin = 254;

// Whether NCCL should load `library` as its profiler: not if the user has chosen one.
bool WantsProfilerPlugin(const char* chosen, const char* own_switch, const std::string& library) {
  const bool off = own_switch != nullptr && strcmp(own_switch, "0") == 0;
  return chosen == nullptr && !off && library.size() <= kLongestPlugin;
}

// Open MPI finds and starts programs differently under a fork agent, so the agent is set only if
// needed.
bool WantsForkAgent(const std::map<std::string, std::string>& current,
                    const JobSettings& settings) {
  const std::string own_switch = FindOr(current, env::kForkAgent, "");
  if (own_switch == "0") return false;
  if (own_switch == "1") return true;
  return !settings.kernel_reports_ends || !StaysOnThisNode(settings.command, current);
}

// Below the prefix of this program.
std::string InstalledLibrary(const std::string& name) {
  const std::string own = OwnPath();
  const std::string directory = own.substr(0, own.rfind('/'));
  for (const char* below : {"/../lib/", "/../" ROLLCALL_LIBDIR "/", "/../lib64/"}) {
    const std::string path = std::string(directory).append(below).append(name);
    char resolved[PATH_MAX];
    if (realpath(path.c_str(), resolved) != nullptr) return resolved;
  }
  return "";
}

std::string Prepended(const std::string& list, const std::string& library) {
  if (list.empty()) return library;
  return IsPreloaded(list, library) ? list : library + ":" + list;
}

// The list without `library`.
std::string Without(const std::string& list, const std::string& library) {
  std::string kept;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find_first_of(": ", begin), list.size());
    const std::string entry = list.substr(begin, end - begin);
    if (!entry.empty() && entry != library) kept += (kept.empty() ? "" : ":") + entry;
    begin = end + 1;
  }
  return kept;
}

}  // namespace

std::string OwnPath() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  return n > 0 && n < static_cast<ssize_t>(sizeof(path)) ? std::string(path, static_cast<size_t>(n))
                                                         : "";
}

std::string Program(const char* name) {
  const std::string own = OwnPath();
  return own.substr(0, own.rfind('/') + 1) + name;
}

std::string PreloadLibrary() { return InstalledLibrary(kLibrary); }
std::string SteeringLibrary() { return InstalledLibrary(kSteeringLibrary); }

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

std::map<std::string, std::string> CurrentEnvironment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* equals = strchr(*entry, '=');
    if (equals != nullptr)
      variables.try_emplace(std::string(*entry, static_cast<size_t>(equals - *entry)), equals + 1);
  }
  return variables;
}

std::vector<std::string> EnvironmentLines(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> lines;
  lines.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    lines.emplace_back(name).append("=").append(value);
  }
  return lines;
}

std::map<std::string, std::string> JobEnvironment(std::map<std::string, std::string> current,
                                                  const JobSettings& settings,
                                                  std::vector<std::string>* notes) {
  current[env::kRunDirectory] = settings.run_directory;
  current[env::kCollector] = settings.collector;
  current[env::kToken] = settings.token;
  if (!settings.stacks) current[env::kStacks] = "0";
  if (!settings.data.empty()) current[env::kData] = settings.data;
  if (!settings.data_scope.empty()) current[env::kDataScope] = settings.data_scope;

  const std::string library = PreloadLibrary();
  if (!settings.steer.empty()) {
    current[env::kSteer] = settings.steer;
    // Behind librollcall.so, which is put in front below, even if the user preloads it already.
    current[kPreload] = Prepended(Without(current[kPreload], library), SteeringLibrary());
  }
  if (library.empty()) {
    notes->push_back("librollcall.so is not where this program expects it; nothing is recorded");
  } else if (library.find_first_of(" :") != std::string::npos) {
    notes->push_back("LD_PRELOAD cannot name " + library + ": its path has a blank or a colon");
  } else {
    current[kPreload] = Prepended(current[kPreload], library);
    const auto text = [&current](const char* name) {
      const std::string* value = FindOrNull(current, name);
      return value == nullptr ? nullptr : value->c_str();
    };
    if (WantsProfilerPlugin(text(kProfilerPlugin), text(env::kNcclPlugin), library)) {
      current[kProfilerPlugin] = library;
    }
  }
  std::string& asan = current[kAsanOptions];
  if (asan.find("verify_asan_link_order") == std::string::npos) {
    asan += (asan.empty() ? "" : ":") + std::string(kAsanAllow);
  }
  const std::string parent = Program("rollcall-exec");
  if (!WantsForkAgent(current, settings)) {
    // Nothing to set.
  } else if (parent.find_first_of(" \t") != std::string::npos) {
    notes->push_back("Open MPI cannot run " + parent +
                     " as fork agent: its path has a blank; how ranks end may stay unknown");
  } else {
    for (const char* agent : kForkAgents) current.try_emplace(agent, parent + " --");
  }
  std::map<std::string, std::string> copies;
  for (const auto& [name, value] : current) {
    if (name.starts_with(kOwnPrefix)) copies[kOpenMpiPrefix + name] = value;
  }
  current.merge(copies);
  return current;
}

void AdoptLauncherEnvironment() {
  for (const auto& [name, value] : CurrentEnvironment()) {
    if (!name.starts_with(std::string(kOpenMpiPrefix) + kOwnPrefix)) continue;
    setenv(name.c_str() + strlen(kOpenMpiPrefix), value.c_str(), 0);
  }
}

void PreloadIntoThisEnvironment() {
  const std::string library = PreloadLibrary();
  if (library.empty() || library.find_first_of(" :") != std::string::npos) return;
  const char* list = getenv(kPreload);
  setenv(kPreload, Prepended(list != nullptr ? list : "", library).c_str(), 1);
  if (WantsProfilerPlugin(getenv(kProfilerPlugin), getenv(env::kNcclPlugin), library)) {
    setenv(kProfilerPlugin, library.c_str(), 1);
  }
}

}  // namespace rollcall
