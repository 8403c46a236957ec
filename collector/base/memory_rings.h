// Rings that no name leads to: memory files (proto/run_directory.h), and ring files that were
// removed. As long as a process maps such a ring, it can be opened through /proc.
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

// Looks at all processes of the effective user `user`; nothing is read of other users'. Names and
// contents are untrusted: the opened file is the one that is mapped, but whether it is a ring is
// for its reader to say, and only rings below a directory of `user` may be believed. Opening takes
// a descriptor that the process keeps, or CAP_CHECKPOINT_RESTORE. Reads only /proc; stops nothing.
MemoryRings FindMemoryRings(uid_t user, const ProcSource& proc = ProcSource());

// What MemoryRing::path is of a mapped file, by its name in /proc/<pid>/maps; empty: not such a
// ring. Pure; a view into `name`.
std::string_view MemoryRingPath(std::string_view name);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_MEMORY_RINGS_H_
