// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/run_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/base/memory_rings.h"
#include "collector/base/process_table.h"
#include "proto/ring_format.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

constexpr char kUseLock[] = "use.lock";
constexpr char kAgentLock[] = "agent.lock";
// A run needs at least this much free space.
constexpr uint64_t kMinFreeBytes = 1 << 20;

std::string ErrorText(int error) { return strerror(error); }

// Opens `path` as a directory that belongs to the caller and that no other user may enter.
Result<UniqueFd> OpenPrivateDirectory(int at, const std::string& path) {
  UniqueFd fd(openat(at, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0) {
    return Error{errno == ELOOP || errno == ENOTDIR
                     ? fmt::format("{} is not a directory (a link or a file)", path)
                     : fmt::format("cannot open {}: {}", path, ErrorText(errno))};
  }
  if (status.st_uid != geteuid()) {
    return Error{fmt::format("{} belongs to user {}, not to {}", path, status.st_uid, geteuid())};
  }
  if ((status.st_mode & 0077) != 0) {
    return Error{fmt::format("{} is open to others (mode {:04o}, needs 0700)", path,
                             status.st_mode & 07777)};
  }
  return fd;
}

// Creates the directory if it does not exist, then opens it as above.
Result<UniqueFd> MakePrivateDirectory(int at, const std::string& path) {
  if (mkdirat(at, path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{fmt::format("cannot make {}: {}", path, ErrorText(errno))};
  }
  return OpenPrivateDirectory(at, path);
}

// Opens and locks a lock file; none on failure. A shared lock means in use; an exclusive one
// excludes all other processes.
UniqueFd TakeLock(int directory, const char* name, int operation) {
  UniqueFd fd(openat(directory, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd || flock(fd.get(), operation | LOCK_NB) != 0) return UniqueFd();
  return fd;
}

bool IsLocked(int directory, const char* name) {
  UniqueFd fd(openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return fd && flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::string RunName() {
  time_t now = time(nullptr);
  tm parts;
  localtime_r(&now, &parts);
  uint32_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = static_cast<uint32_t>(now);
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}-{:08x}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     random);
}

// Calls visit(name, status) for every entry that is neither "." nor "..".
template <typename Visit>
void ForEachEntry(int directory, const Visit& visit) {
  // Opens a new descriptor because fdopendir takes ownership, and duplicates share the offset.
  const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  DIR* stream = fdopendir(fd);
  if (stream == nullptr) {
    close(fd);
    return;
  }
  while (const dirent* entry = readdir(stream)) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    struct stat status;
    if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) visit(entry->d_name, status);
  }
  closedir(stream);
}

bool RemoveBelow(int parent, const char* name, int levels) {
  UniqueFd directory(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return false;
  ForEachEntry(directory.get(), [&](const char* entry, const struct stat& status) {
    if (!S_ISDIR(status.st_mode)) {
      unlinkat(directory.get(), entry, 0);
    } else if (levels > 0) {
      RemoveBelow(directory.get(), entry, levels - 1);
    }
  });
  return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

uint64_t BytesBelow(int directory) {
  uint64_t bytes = 0;
  ForEachEntry(directory, [&](const char* name, const struct stat& status) {
    bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    if (!S_ISDIR(status.st_mode)) return;
    UniqueFd below(openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below) return;
    ForEachEntry(below.get(), [&](const char*, const struct stat& inner) {
      bytes += static_cast<uint64_t>(inner.st_blocks) * 512;
    });
  });
  return bytes;
}

// Whether the directory has the content of a run directory. Only such a directory may be joined or
// removed, because --dir may name any directory.
bool LooksLikeRun(int directory) {
  bool empty = true;
  bool has_rings = false;
  ForEachEntry(directory, [&](const char* name, const struct stat&) {
    empty = false;
    has_rings |= strcmp(name, kRingsDirectory) == 0;
  });
  return empty || has_rings;
}

// Whether a process that writes a ring in this run directory still lives, even if its `rollcall
// run` has ended.
bool HasLiveRank(int run, ProcessTable* processes) {
  const UniqueFd rings(
      openat(run, kRingsDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  bool live = false;
  if (!rings) return live;
  ForEachEntry(rings.get(), [&](const char* name, const struct stat& status) {
    if (live || !S_ISREG(status.st_mode)) return;
    const UniqueFd file(openat(rings.get(), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    ring::FileHeader header;
    if (!file || pread(file.get(), &header, sizeof(header), 0) != sizeof(header)) return;
    if (memcmp(header.magic, ring::kMagic, sizeof(ring::kMagic)) != 0) return;
    const RingWriter writer{header.pid, header.process_start_ticks, header.pid_namespace};
    live = processes->Find(writer).life != ProcessTable::Life::kGone;
  });
  return live;
}

// Whether a process of the run lives and its ring is in memory.
bool HoldsOneOf(const MemoryRings& in_memory, const std::string& run) {
  char resolved[PATH_MAX];
  const std::string begin = std::string(realpath(run.c_str(), resolved) ? resolved : run) + "/";
  return std::ranges::any_of(in_memory.rings,
                             [&](const MemoryRing& ring) { return ring.path.starts_with(begin); });
}

}  // namespace

std::string RunRoot::DefaultPath(const std::string& shared_memory) {
  return fmt::format("{}/{}{}", shared_memory, kRunRootPrefix, geteuid());
}

RunRoot::Usable RunRoot::UsablePath(const std::string& shared_memory) {
  std::string why;
  struct statvfs room;
  if (statvfs(shared_memory.c_str(), &room) != 0) {
    why = fmt::format("{} is missing ({})", shared_memory, ErrorText(errno));
  } else if (uint64_t{room.f_bavail} * room.f_frsize < kMinFreeBytes) {
    why = fmt::format("{} is full", shared_memory);
  } else if (access(shared_memory.c_str(), W_OK | X_OK) != 0) {
    why = fmt::format("{} is not writable", shared_memory);
  } else {
    std::string root = DefaultPath(shared_memory);
    const Result<UniqueFd> fd = MakePrivateDirectory(AT_FDCWD, root);
    if (fd) return {.path = std::move(root), .why = {}};
    why = fd.error();
  }
  const char* temporary = getenv("TMPDIR");
  return {.path = DefaultPath(temporary != nullptr && temporary[0] == '/' ? temporary : "/tmp"),
          .why = std::move(why)};
}

Result<RunDirectory> RunRoot::Create(const std::string& root) {
  const Result<UniqueFd> fd = MakePrivateDirectory(AT_FDCWD, root);
  if (!fd) return Error{fd.error()};
  return CreateAt(root + "/" + RunName());
}

Result<RunDirectory> RunRoot::CreateAt(const std::string& path) {
  const Result<UniqueFd> fd = MakePrivateDirectory(AT_FDCWD, path);
  if (!fd) return Error{fd.error()};
  if (!LooksLikeRun(fd->get())) return Error{fmt::format("{} holds other files", path)};
  const Result<UniqueFd> rings = MakePrivateDirectory(fd->get(), kRingsDirectory);
  if (!rings) return Error{rings.error()};
  return Join(path);
}

Result<RunDirectory> RunRoot::Join(const std::string& path) {
  RunDirectory run;
  const Result<UniqueFd> fd = OpenPrivateDirectory(AT_FDCWD, path);
  if (!fd) return Error{fd.error()};
  const Result<UniqueFd> rings = OpenPrivateDirectory(fd->get(), kRingsDirectory);
  if (!rings) return Error{rings.error()};
  run.use_lock_fd_ = TakeLock(fd->get(), kUseLock, LOCK_SH);
  if (!run.use_lock_fd_) return Error{fmt::format("cannot lock {}: {}", path, ErrorText(errno))};
  char resolved[PATH_MAX];
  run.path_ = realpath(path.c_str(), resolved) != nullptr ? resolved : path;
  return run;
}

bool RunRoot::TakeAgentLock(RunDirectory* run) {
  if (run->holds_agent_lock()) return true;
  const Result<UniqueFd> fd = OpenPrivateDirectory(AT_FDCWD, run->path_);
  if (fd) run->agent_lock_fd_ = TakeLock(fd->get(), kAgentLock, LOCK_EX);
  return run->holds_agent_lock();
}

bool RunRoot::HasAgent(const std::string& run) {
  const Result<UniqueFd> fd = OpenPrivateDirectory(AT_FDCWD, run);
  return fd && IsLocked(fd->get(), kAgentLock);
}

std::vector<RunRoot::Old> RunRoot::List(const std::string& root) {
  std::vector<Old> found;
  const Result<UniqueFd> fd = OpenPrivateDirectory(AT_FDCWD, root);
  if (!fd) return found;
  ProcessTable processes;
  ForEachEntry(fd->get(), [&](const char* name, const struct stat& status) {
    if (!S_ISDIR(status.st_mode)) return;
    const UniqueFd run(openat(fd->get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!run || !LooksLikeRun(run.get())) return;
    found.push_back(
        {.path = root + "/" + name,
         .modified_ns = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec,
         .bytes = BytesBelow(run.get()),
         .in_use = IsLocked(run.get(), kUseLock) || HasLiveRank(run.get(), &processes)});
  });
  std::ranges::sort(found, std::ranges::greater{}, &Old::modified_ns);
  return found;
}

std::vector<RunRoot::Old> RunRoot::Clean(const std::string& root, size_t keep, int64_t max_age_ns) {
  const int64_t now_ns = Now(CLOCK_REALTIME);
  std::vector<Old> removed;
  std::optional<MemoryRings> in_memory;
  size_t kept = 0;
  for (Old& run : List(root)) {
    if (run.in_use) continue;
    const bool too_old = now_ns - run.modified_ns > max_age_ns;
    if (!too_old && kept < keep) {
      ++kept;
      continue;
    }
    if (!in_memory) in_memory = FindMemoryRings(geteuid());
    if (!HoldsOneOf(*in_memory, run.path) && Remove(run.path)) removed.push_back(std::move(run));
  }
  return removed;
}

bool RunRoot::Remove(const std::string& path) {
  const Result<UniqueFd> fd = OpenPrivateDirectory(AT_FDCWD, path);
  if (!fd || !LooksLikeRun(fd->get())) return false;
  return RemoveBelow(AT_FDCWD, path.c_str(), 2);
}

}  // namespace rollcall
