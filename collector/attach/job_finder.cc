// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/job_finder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "collector/attach/rank_identity.h"
#include "collector/base/find.h"
#include "collector/base/proc_stat.h"
#include "collector/base/text.h"
#include "collector/live/exported_symbols.h"
#include "collector/live/process_image.h"
#include "collector/model/rank_set.h"
#include "collector/model/runtime_modules.h"

namespace rollcall::attach {
namespace {

constexpr std::string_view kByParent = "process ";
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxPathBytes = 4096;
// Limit of an environment that is read from memory.
constexpr size_t kMaxVariables = 4096;

struct Entry {
  pid_t pid = 0;
  pid_t parent = 0;
  uint64_t start_ticks = 0;
  std::string name;
  std::optional<RankIdentity> identity;
  bool communicates = false;
};

std::string Directory(pid_t pid) { return "/proc/" + std::to_string(pid); }

// The effective user, from the line "Uid:" of /proc/<pid>/status.
std::optional<uid_t> OwnerOf(const ProcSource& proc, pid_t pid) {
  std::string status;
  if (proc.Read(Directory(pid) + "/status", &status) != 0) return std::nullopt;
  std::string_view users = ProcStatusField(status, "Uid");
  TakeUntil('\t', &users);  // the real user
  return ParseNumber<uid_t>(TakeUntil('\t', &users));
}

std::optional<Entry> ReadEntry(const ProcSource& proc, pid_t pid) {
  std::string stat;
  if (proc.Read(Directory(pid) + "/stat", &stat) != 0) return std::nullopt;
  const size_t open = stat.find('(');
  const size_t close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Entry entry;
  entry.pid = pid;
  entry.name = CleanText(stat.substr(open + 1, close - open - 1), kMaxNameBytes);
  entry.parent = ParseNumber<pid_t>(ProcStatField(stat, 4)).value_or(0);
  entry.start_ticks = ProcStatStartTicks(stat);
  return entry;
}

std::string ExecutableOf(const ProcSource& proc, pid_t pid) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink(proc.root() + Directory(pid) + "/exe", error);
  return CleanText(path.string(), kMaxPathBytes);
}

bool HasCommunicationLibrary(const ProcSource& proc, pid_t pid) {
  const std::set<std::string> files = MappedFiles(proc, pid);
  return std::ranges::any_of(files, IsCommunicationLibrary);
}

bool Fits(const RankIdentity& rank, const RankFilter& filter) {
  if (!filter.slurm_job.empty() && rank.slurm_job != filter.slurm_job) return false;
  return filter.slurm_node.empty() || rank.slurm_node.empty() ||
         rank.slurm_node == filter.slurm_node;
}

// All processes that may be read, and their parents.
class ProcessTree {
 public:
  ProcessTree(const ProcSource& proc, uid_t user, const RankFilter& filter) {
    std::vector<int> pids;
    if (proc.ListNumbers("/proc", &pids) != 0) return;
    for (const int pid : pids) {
      std::optional<Entry> entry = ReadEntry(proc, pid);
      const std::optional<uid_t> owner = OwnerOf(proc, pid);
      if (!entry || !owner) continue;
      if (user == 0 || *owner == user) ReadIdentity(proc, &*entry);
      if (entry->identity && !Fits(*entry->identity, filter)) entry->identity.reset();
      entries_.emplace(pid, std::move(*entry));
    }
    for (const auto& [pid, entry] : entries_) children_[entry.parent].push_back(pid);
  }

  const std::map<pid_t, Entry>& entries() const { return entries_; }
  size_t hidden() const { return hidden_; }

  const Entry* Find(pid_t pid) const { return FindOrNull(entries_, pid); }
  // The descendants of `pid`, children before grandchildren.
  std::vector<pid_t> Descendants(pid_t pid) const {
    std::vector<pid_t> all = {pid};
    for (size_t i = 0; i < all.size(); ++i) {
      const auto* children = FindOrNull(children_, all[i]);
      if (children != nullptr) all.insert(all.end(), children->begin(), children->end());
    }
    all.erase(all.begin());
    return all;
  }
  // The ancestors of `pid`, without init.
  std::vector<pid_t> Ancestors(pid_t pid) const {
    std::vector<pid_t> all;
    for (const Entry* entry = Find(pid); entry != nullptr; entry = Find(entry->parent)) {
      if (entry->parent <= 1 || all.size() > entries_.size()) break;
      all.push_back(entry->parent);
    }
    return all;
  }
  // Whether the identity of the process, if it has one, is the identity of its parent.
  bool Inherits(const Entry& entry) const {
    const Entry* parent = Find(entry.parent);
    return parent != nullptr && parent->identity == entry.identity;
  }

 private:
  void ReadIdentity(const ProcSource& proc, Entry* entry) {
    std::string environment;
    const int error = proc.Read(Directory(entry->pid) + "/environ", &environment);
    hidden_ += error == EACCES || error == EPERM;
    if (error != 0) return;  // kernel threads have none
    entry->identity = IdentifyRank(environment);
    entry->communicates = HasCommunicationLibrary(proc, entry->pid);
    if (!entry->identity && entry->communicates) {
      entry->identity = IdentifyRank(EnvironmentNow(proc, entry->pid));
    }
  }

  std::map<pid_t, Entry> entries_;
  std::unordered_map<pid_t, std::vector<pid_t>> children_;
  size_t hidden_ = 0;
};

bool IsShell(std::string_view name) {
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "zsh", "ksh", "env", "time"};
  return std::ranges::find(kShells, name) != std::end(kShells);
}

// Among a process and its descendants with the same identity, selects the one that communicates. A
// shell or a wrapper may be its ancestor, and workers may be its children.
const Entry* RankAmong(const std::vector<const Entry*>& family) {
  for (const Entry* entry : family) {
    if (entry->communicates) return entry;
  }
  for (const Entry* entry : family) {
    if (!IsShell(entry->name)) return entry;
  }
  return family.front();
}

// Whether the process may use MPI without a library of that name: it is linked statically, or its
// mappings may not be read.
bool MayBeStatic(const ProcSource& proc, pid_t pid) {
  const std::set<std::string> files = MappedFiles(proc, pid);
  return std::ranges::none_of(files, [](const std::string& file) {
    return file.find("/ld-") != std::string::npos || file.find("/libc.so") != std::string::npos;
  });
}

// Whether the process is the agent of a launcher and itself a rank of an outer launcher (torchrun
// in a Slurm task). The processes that it started then have another identity.
bool StartsRanksOfItsOwn(const ProcessTree& tree, const Entry& top) {
  for (const pid_t pid : tree.Descendants(top.pid)) {
    const Entry* below = tree.Find(pid);
    if (below->identity && below->identity->launcher != top.identity->launcher) return true;
  }
  return false;
}

using JobKey = std::tuple<std::string, std::string, int32_t>;  // launcher, job, size

JobKey KeyOf(const RankIdentity& identity, pid_t parent) {
  const std::string job =
      identity.job.empty() ? std::string(kByParent) + std::to_string(parent) : identity.job;
  return {identity.launcher, job, identity.size};
}

}  // namespace

std::string EnvironmentInMemory(const ProcessImage& image, const std::string& file_root) {
  const auto libc = std::ranges::find_if(image.modules(), [](const LoadedModule& module) {
    return module.path.find("/libc.so.6") != std::string::npos ||
           module.path.find("/libc-2.") != std::string::npos;
  });
  constexpr std::array<std::string_view, 1> kNames = {"environ"};
  std::array<uint64_t, 1> found{};
  if (libc == image.modules().end() || !FindExports(*libc, file_root, kNames, found) ||
      found[0] == 0) {
    return "";
  }
  const ProcessMemory& memory = image.memory();
  uint64_t list = 0;
  if (memory.Read(found[0] + libc->bias, &list, sizeof(list)) != sizeof(list)) return "";
  std::string environment;
  for (size_t i = 0; i < kMaxVariables; ++i) {
    uint64_t variable = 0;
    if (memory.Read(list + 8 * i, &variable, sizeof(variable)) != sizeof(variable)) break;
    if (variable == 0) break;
    AppendVariable(memory, variable, &environment);
  }
  return environment;
}

std::string EnvironmentNow(const ProcSource& proc, pid_t pid) {
  const ProcessMemory memory(pid);
  ProcessImage image;
  if (!proc.root().empty() || image.Load(proc, pid, &memory) != 0) return "";
  return EnvironmentInMemory(image, Directory(pid) + "/root");
}

std::set<std::string> MappedFiles(const ProcSource& proc, pid_t pid) {
  std::set<std::string> files;
  std::string maps;
  if (proc.Read(Directory(pid) + "/maps", &maps, 16 << 20) != 0) return files;
  for (std::string_view rest = maps; !rest.empty();) {
    const std::string_view line = TakeUntil('\n', &rest);
    const size_t path = line.find('/');
    if (path != std::string_view::npos) files.emplace(line.substr(path));
  }
  return files;
}

bool IsCommunicationLibrary(const std::string& path) {
  const ModuleFamily family = FamilyOf(path);
  // A launcher has transport libraries, too.
  const bool of_launchers =
      family == ModuleFamily::kTransport || family == ModuleFamily::kMpiRuntime;
  return path.find(".so", path.rfind('/') + 1) != std::string::npos && IsCommunication(family) &&
         !of_launchers;
}

bool IsIdentifiedByParent(const FoundJob& job) { return job.job.starts_with(kByParent); }

FoundJobs FindJobs(const ProcSource& proc, uid_t user, const RankFilter& filter) {
  const ProcessTree tree(proc, user, filter);
  std::map<JobKey, FoundJob> jobs;
  for (const auto& [pid, top] : tree.entries()) {
    if (!top.identity || tree.Inherits(top)) continue;
    const JobKey key = KeyOf(*top.identity, top.parent);
    FoundJob& job = jobs[key];
    if (StartsRanksOfItsOwn(tree, top)) {
      job.others.push_back(pid);
      continue;
    }
    std::tie(job.launcher, job.job, job.size) = key;
    job.all_local |= top.identity->size > 0 && top.identity->local_size == top.identity->size;
    std::vector<const Entry*> family = {&top};
    for (const pid_t below : tree.Descendants(pid)) {
      const Entry* entry = tree.Find(below);
      if (entry->identity == top.identity) family.push_back(entry);
    }
    const Entry* chosen = RankAmong(family);
    JobRank rank;
    rank.rank = top.identity->rank;
    rank.pid = chosen->pid;
    rank.start_ticks = chosen->start_ticks;
    rank.name = chosen->name;
    rank.executable = ExecutableOf(proc, chosen->pid);
    rank.communicates = chosen->communicates || MayBeStatic(proc, chosen->pid);
    const std::vector<pid_t> below = tree.Descendants(chosen->pid);
    for (const Entry* entry : family) {
      if (entry == chosen) continue;
      const bool started = std::ranges::find(below, entry->pid) != below.end();
      (started ? rank.helpers : job.others).push_back(entry->pid);
    }
    for (const pid_t above : tree.Ancestors(pid)) job.others.push_back(above);
    const bool known = std::ranges::count(job.ranks, rank.rank, &JobRank::rank) != 0;
    if (known) {
      job.others.push_back(rank.pid);  // started separately: the first one counts
    } else {
      job.ranks.push_back(std::move(rank));
    }
  }
  FoundJobs found;
  found.hidden = tree.hidden();
  for (auto& [key, job] : jobs) {
    if (job.ranks.empty()) continue;
    std::ranges::sort(job.ranks, {}, &JobRank::rank);
    Normalize(&job.others);
    found.jobs.push_back(std::move(job));
  }
  const auto lowest = [](const FoundJob& job) {
    return std::ranges::min_element(job.ranks, {}, &JobRank::pid)->pid;
  };
  std::ranges::sort(found.jobs, {}, lowest);
  return found;
}

}  // namespace rollcall::attach
