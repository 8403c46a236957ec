// Run directories: made, checked, listed and removed here alone.
//
// The root is <shared memory>/rollcall-<uid>, mode 0700 and owned by the user; below it is one
// directory per run. Shared memory is a place where anybody may create names, so nothing is
// believed: the root is opened without following a link, its owner and mode are read from the
// descriptor, and everything below is done relative to descriptors.
#ifndef ROLLCALL_COLLECTOR_LIVE_RUN_ROOT_H_
#define ROLLCALL_COLLECTOR_LIVE_RUN_ROOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/file.h"

namespace rollcall {

// A run directory that this process made or joined. While it is held, `rollcall clean` and other
// runs leave it alone: the lock file's flock(2) says that it is in use, and ends with the process.
class RunDirectory {
 public:
  const std::string& path() const { return path_; }
  bool valid() const { return !path_.empty(); }
  // True if this process took the agent's place in it; see TakeAgentLock().
  bool holds_agent_lock() const { return static_cast<bool>(agent_lock_fd_); }

 private:
  friend struct RunRoot;
  std::string path_;
  UniqueFd use_lock_fd_;
  UniqueFd agent_lock_fd_;
};

struct RunRoot {
  // Where runs of the calling user are by default. `shared_memory` is for tests.
  static std::string DefaultPath(const std::string& shared_memory);
  // The same, or the fallback on disk when shared memory cannot be used; `why` then says so, in
  // words for a person, and is empty otherwise.
  static std::string UsablePath(const std::string& shared_memory, std::string* why);

  // Makes root/<time>-<random> with its rings directory. `problem` says why not.
  static RunDirectory Create(const std::string& root, std::string* problem);
  // Makes the directory `path` itself, or takes it if it is there, empty or a run directory, and
  // the caller's own with mode 0700.
  static RunDirectory CreateAt(const std::string& path, std::string* problem);
  // Joins an existing one after the same checks.
  static RunDirectory Join(const std::string& path, std::string* problem);

  // One agent per run directory: false if another process has the place.
  static bool TakeAgentLock(RunDirectory* run);
  // Whether an agent has the place now.
  static bool HasAgent(const std::string& run);

  struct Old {
    std::string path;
    int64_t modified_ns = 0;
    uint64_t bytes = 0;
    bool in_use = false;
  };
  // All below `root`, newest first.
  static std::vector<Old> List(const std::string& root);
  // Removes what is not in use beyond the `keep` newest or older than `max_age_ns`. Says what went.
  static std::vector<Old> Clean(const std::string& root, size_t keep, int64_t max_age_ns);
  // Removes one run directory and what is in it (two levels, no links followed). True if it is
  // gone.
  static bool Remove(const std::string& path);
};

// How many old runs stay, and how long, unless `rollcall clean` is told otherwise.
inline constexpr size_t kKeepRuns = 16;
inline constexpr int64_t kKeepRunsNs = int64_t{7} * 24 * 3600 * 1'000'000'000;

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_RUN_ROOT_H_
