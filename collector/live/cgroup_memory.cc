// SPDX-License-Identifier: Apache-2.0
#include "collector/live/cgroup_memory.h"

#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

namespace rollcall {
namespace {

struct Group {
  std::string v2;         // path in the unified hierarchy
  std::string v1_memory;  // path in the memory controller's hierarchy
};

// Lines "number:controllers:path"; see cgroups(7).
Group ParseGroup(const std::string& text) {
  Group group;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") group.v2 = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos)
      group.v1_memory = line.substr(second + 1);
  }
  return group;
}

// Possible directories, in this process's mount namespace, of control group `path`. In a container,
// the mount shows only part of the hierarchy; the fourth field names that part's root; see proc(5).
std::vector<std::string> Directories(const std::string& mountinfo, bool v2,
                                     const std::string& path) {
  std::vector<std::string> found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string skip;
    std::string root;
    std::string mount_point;
    fields >> skip >> skip >> skip >> root >> mount_point;
    while (fields >> skip && skip != "-") {
    }
    std::string type;
    std::string options;
    fields >> type >> skip >> options;
    if (type != (v2 ? "cgroup2" : "cgroup")) continue;
    if (!v2 && ("," + options + ",").find(",memory,") == std::string::npos) continue;
    if (root == "/") root.clear();
    const std::string below = path == "/" ? "" : path;
    if (below.starts_with(root) && (below.size() == root.size() || below[root.size()] == '/')) {
      found.push_back(mount_point + below.substr(root.size()));
    }
    // Inside a namespace, one of the two files shows the namespace's own group as "/" and the other
    // file shows its full path.
    found.push_back(mount_point);
  }
  return found;
}

}  // namespace

std::string OomCounterPath(const ProcSource& proc, pid_t pid) {
  std::string text;
  std::string mountinfo;
  if (proc.Read("/proc/" + std::to_string(pid) + "/cgroup", &text) != 0 ||
      proc.Read("/proc/self/mountinfo", &mountinfo) != 0) {
    return "";
  }
  const Group group = ParseGroup(text);
  for (const bool v2 : {false, true}) {  // on a mixed system the memory controller is in version 1
    const std::string& path = v2 ? group.v2 : group.v1_memory;
    // "/.." means that the process is outside of our cgroup namespace.
    if (path.empty() || path.find("..") != std::string::npos) continue;
    for (const std::string& dir : Directories(mountinfo, v2, path)) {
      std::string candidate = dir + (v2 ? "/memory.events" : "/memory.oom_control");
      if (ReadOomKills(proc, candidate)) return candidate;
    }
  }
  return "";
}

std::optional<uint64_t> ReadOomKills(const ProcSource& proc, const std::string& counter_path) {
  std::string text;
  if (counter_path.empty() || proc.Read(counter_path, &text) != 0) return std::nullopt;
  std::istringstream lines(text);
  std::string key;
  uint64_t value = 0;
  while (lines >> key >> value) {
    if (key == "oom_kill") return value;
  }
  return std::nullopt;
}

}  // namespace rollcall
