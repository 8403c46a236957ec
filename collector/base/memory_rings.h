// SPDX-License-Identifier: Apache-2.0
// Finds rings without a name in the file system: memory files (proto/run_directory.h), and ring
// files that were removed. As long as a process maps such a ring, it can be opened through /proc.
#ifndef ROLLCALL_COLLECTOR_BASE_MEMORY_RINGS_H_
#define ROLLCALL_COLLECTOR_BASE_MEMORY_RINGS_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "collector/base/file.h"
#include "collector/base/proc_source.h"

namespace rollcall {

struct MemoryRing {
  std::string path;   // where its file would be: <run directory>/rings/<name>
  pid_t pid = 0;      // a process that maps it: its writer, or a child that inherited the mapping
  UniqueFd fd;        // read-only; keeps the ring, whatever becomes of the process. May be empty
  std::string error;  // why it cannot be opened; empty: `fd` is not
};

struct MemoryRings {
  std::vector<MemoryRing> rings;  // each once, in the order of their paths
  size_t denied = 0;              // processes of the user whose mappings may not be read
};

// Examines all processes of the effective user `user`, and reads nothing of other users' processes.
// Names and contents are untrusted. The opened file is the file that is mapped. The reader of the
// file decides whether it is a ring, and must accept rings below a directory of `user` only.
// Opening requires a descriptor that the process keeps, or CAP_CHECKPOINT_RESTORE. Reads only
// /proc; stops nothing.
MemoryRings FindMemoryRings(uid_t user, const ProcSource& proc = ProcSource());

// The MemoryRing::path of a mapped file, by its name in /proc/<pid>/maps. Empty if the file is no
// such ring. Pure; a view into `name`.
std::string_view MemoryRingPath(std::string_view name);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_MEMORY_RINGS_H_
