// SPDX-License-Identifier: Apache-2.0
// Creates, checks, lists and removes run directories; no other code does.
//
// The root is <shared memory>/rollcall-<uid>, mode 0700 and owned by the user, with one directory
// per run. Any user may create names in shared memory, so nothing is trusted: the root is opened
// without following a link, its owner and mode are read from the descriptor, and all further
// operations are relative to descriptors.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_RUN_ROOT_H_
#define ROLLCALL_COLLECTOR_LAUNCH_RUN_ROOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/file.h"
#include "collector/base/result.h"

namespace rollcall {

// A run directory that this process created or joined. While this object exists, `rollcall clean`
// and other runs leave the directory alone: a flock(2) on its lock file marks it as in use. The
// lock ends with the process.
class RunDirectory {
 public:
  const std::string& path() const { return path_; }
  bool valid() const { return !path_.empty(); }
  // True if this process is the directory's agent; see TakeAgentLock().
  bool holds_agent_lock() const { return static_cast<bool>(agent_lock_fd_); }

 private:
  friend struct RunRoot;
  std::string path_;
  UniqueFd use_lock_fd_;
  UniqueFd agent_lock_fd_;
};

struct RunRoot {
  // The default directory for runs of the calling user. `shared_memory` is for tests.
  static std::string DefaultPath(const std::string& shared_memory);
  struct Usable {
    std::string path;
    std::string why;  // the path is not the default one; empty: it is
  };
  // The default directory. If shared memory cannot be used: a directory on disk.
  static Usable UsablePath(const std::string& shared_memory);

  // Creates root/<time>-<random> with its rings directory.
  static Result<RunDirectory> Create(const std::string& root);
  // Creates the directory `path` itself. Accepts an existing one if it is empty or a run directory,
  // and is the caller's own with mode 0700.
  static Result<RunDirectory> CreateAt(const std::string& path);
  // Joins an existing one after the same checks.
  static Result<RunDirectory> Join(const std::string& path);

  // Makes this process the run directory's only agent; false if another process is.
  static bool TakeAgentLock(RunDirectory* run);
  // Whether the run directory has an agent now.
  static bool HasAgent(const std::string& run);

  struct Old {
    std::string path;
    int64_t modified_ns = 0;
    uint64_t bytes = 0;
    bool in_use = false;
  };
  // All run directories below `root`, newest first.
  static std::vector<Old> List(const std::string& root);
  // Removes run directories not in use that are beyond the `keep` newest or older than
  // `max_age_ns`. Returns the removed ones.
  static std::vector<Old> Clean(const std::string& root, size_t keep, int64_t max_age_ns);
  // Removes one run directory and its content (two levels, without following links). True on
  // success.
  static bool Remove(const std::string& path);
};

// Number and maximum age of the old runs that are kept by default; `rollcall clean` can override
// both.
inline constexpr size_t kKeepRuns = 16;
inline constexpr int64_t kKeepRunsNs = int64_t{7} * 24 * 3600 * 1'000'000'000;

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_RUN_ROOT_H_
