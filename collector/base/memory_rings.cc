// SPDX-License-Identifier: Apache-2.0
#include "collector/base/memory_rings.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "collector/base/result.h"
#include "collector/base/text.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;

// Parts that the kernel adds to names in /proc: to memory files, and to files without a link.
constexpr std::string_view kMemoryFile = "/memfd:";
constexpr std::string_view kDeleted = " (deleted)";
constexpr size_t kMaxMapsBytes = 16 << 20;
constexpr uint64_t kMaxRingBytes = uint64_t{1} << 40;

// A line of /proc/<pid>/maps.
struct Mapping {
  std::string range;  // its name in map_files
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string link;  // as the links of /proc name the file
  std::string path;  // of MemoryRing
};

std::optional<Mapping> ParseRing(std::string_view line) {
  const size_t link = line.find('/');
  if (link == std::string_view::npos) return std::nullopt;
  Mapping mapping;
  mapping.link = line.substr(link);
  mapping.path = MemoryRingPath(mapping.link);
  if (mapping.path.empty()) return std::nullopt;
  // "start-end access offset major:minor inode"
  char range[64];
  unsigned major = 0;
  unsigned minor = 0;
  unsigned long long inode = 0;
  if (std::sscanf(std::string(line.substr(0, link)).c_str(), "%63s %*s %*s %x:%x %llu", range,
                  &major, &minor, &inode) != 4) {
    return std::nullopt;
  }
  mapping.range = range;
  mapping.device = makedev(major, minor);
  mapping.inode = inode;
  return mapping;
}

std::vector<Mapping> RingsOf(std::string_view maps) {
  std::vector<Mapping> rings;
  while (!maps.empty()) {
    if (auto ring = ParseRing(TakeUntil('\n', &maps))) rings.push_back(std::move(*ring));
  }
  return rings;
}

// Opens the file that the process maps. The links of descriptors can be followed by the same user.
// The links of map_files can be followed with a privilege only.
Result<UniqueFd> Open(const ProcSource& proc, const std::string& process, const Mapping& mapping) {
  Error error{"it is not mapped any more"};
  std::vector<std::string> links;
  std::vector<int> numbers;
  proc.ListNumbers(process + "/fd", &numbers);
  for (const int number : numbers) {
    const std::string link = proc.root() + process + "/fd/" + std::to_string(number);
    std::error_code ignored;
    // Other links are not opened: a file of a dead network file system would block.
    if (fs::read_symlink(link, ignored) == mapping.link) links.push_back(link);
  }
  links.push_back(proc.root() + process + "/map_files/" + mapping.range);
  for (const std::string& link : links) {
    Result<RegularFile> file = OpenRegularFile(link, kMaxRingBytes);
    if (!file) {
      error.text = file.error();
      continue;
    }
    // By now, the pid may belong to another process, or the descriptor to another file.
    const FileStamp& stamp = file->stamp;
    if (stamp.device == mapping.device && stamp.inode == mapping.inode) return std::move(file->fd);
  }
  return error;
}

}  // namespace

std::string_view MemoryRingPath(std::string_view name) {
  if (!name.ends_with(kDeleted)) return {};
  name.remove_suffix(kDeleted.size());
  if (name.starts_with(kMemoryFile)) name.remove_prefix(kMemoryFile.size());
  const bool is_ring =
      name.ends_with(kRingSuffix) && fs::path(name).parent_path().filename() == kRingsDirectory;
  return is_ring ? name : std::string_view();
}

MemoryRings FindMemoryRings(uid_t user, const ProcSource& proc) {
  MemoryRings found;
  std::set<std::pair<uint64_t, uint64_t>> opened;
  std::vector<int> pids;
  proc.ListNumbers("/proc", &pids);
  for (const int pid : pids) {
    const std::string process = "/proc/" + std::to_string(pid);
    struct stat info;
    if (stat((proc.root() + process).c_str(), &info) != 0 || info.st_uid != user) continue;
    std::string maps;
    const int status = proc.Read(process + "/maps", &maps, kMaxMapsBytes);
    found.denied += status == EACCES || status == EPERM;
    for (const Mapping& mapping : RingsOf(maps)) {
      const std::pair file(mapping.device, mapping.inode);
      if (opened.contains(file)) continue;  // inherited by a child, or mapped in parts
      MemoryRing ring = {.path = mapping.path, .pid = pid, .fd = {}, .error = {}};
      Result<UniqueFd> fd = Open(proc, process, mapping);
      ring.error = fd.error();
      if (fd) {
        ring.fd = std::move(*fd);
        opened.insert(file);
      }
      found.rings.push_back(std::move(ring));
    }
  }
  // If a ring can be opened through one of its processes, the failures of its other processes do
  // not count.
  std::ranges::stable_sort(found.rings, [](const auto& a, const auto& b) {
    return std::pair(a.path, !a.fd) < std::pair(b.path, !b.fd);
  });
  const auto failed_too = [](const auto& a, const auto& b) { return a.path == b.path && !b.fd; };
  found.rings.erase(std::unique(found.rings.begin(), found.rings.end(), failed_too),
                    found.rings.end());
  return found;
}

}  // namespace rollcall
