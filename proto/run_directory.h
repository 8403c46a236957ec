// SPDX-License-Identifier: Apache-2.0
// Names inside a run directory, shared by the shim, the agent and `rollcall analyze`.
//
//   <run directory>/             mode 0700, owned by the user; by default on /dev/shm
//     rings/<host>-<pid>-<hex>.ring   one per process, mode 0600 (ring_format.h)
//     rings/….ring.copy          copy of a memory file's ring, taken while its process lived; never
//                                written any more
//     journal.jsonl              facts that only a live observer sees (collector/import/journal.md)
//     agent.sock                 the agent's Unix socket (below)
//     collector                  how `rollcall top` reaches the collector of `rollcall run`, while
//                                it runs; mode 0600 (collector/launch/collector_file.h)
//
// When shared memory is too small for a ring file, the shim creates a memfd and passes it to the
// agent. The shim sends one SCM_RIGHTS message on agent.sock (SOCK_STREAM) with the descriptor and
// an AgentHello. It does not block and expects no answer. The agent keeps the descriptor, so that
// the ring outlives the process. The agent copies the ring into the run directory when a hang is
// suspected, when the agent is asked to stop, and when the process has ended.
//
// The memfd is named like the file that it replaces, <run directory>/rings/<name>, and the process
// keeps a descriptor of it. Commands without an agent find the rings of living processes by
// /proc/<pid>/maps and read them by /proc/<pid>/fd (collector/base/memory_rings.h).
//
// The agent also listens on the same name in the abstract namespace (a NUL followed by the path). A
// rank can reach that name from its own mount namespace, where /dev/shm has no run directory. Any
// user can listen there, so the shim sends nothing to a listener of another user. A rank that
// cannot record at all sends an AgentHello without a descriptor; ring_name holds the reason.
#ifndef ROLLCALL_PROTO_RUN_DIRECTORY_H_
#define ROLLCALL_PROTO_RUN_DIRECTORY_H_

#include <cstdint>

namespace rollcall {

inline constexpr char kRingsDirectory[] = "rings";
inline constexpr char kRingSuffix[] = ".ring";
inline constexpr char kRingCopySuffix[] = ".copy";    // after kRingSuffix
inline constexpr char kPartialSuffix[] = ".partial";  // of a file that the agent is writing
inline constexpr char kJournalFile[] = "journal.jsonl";
inline constexpr char kAgentSocket[] = "agent.sock";
inline constexpr char kCollectorFile[] = "collector";
// Run directories are created below this one as <prefix><uid>/<run>; mode 0700, owner checked.
inline constexpr char kSharedMemory[] = "/dev/shm";
inline constexpr char kRunRootPrefix[] = "rollcall-";

// All rings of a node together use at most 1/kSharedMemoryShare of the free shared memory.
inline constexpr uint64_t kSharedMemoryShare = 16;

struct AgentHello {
  char magic[8];        // kAgentMagic
  uint32_t version;     // 1
  uint32_t pid;         // in the pid namespace of the process
  char ring_name[112];  // file name the ring would have had, or the reason; NUL-terminated
};
static_assert(sizeof(AgentHello) == 128);
inline constexpr char kAgentMagic[8] = {'R', 'C', 'A', 'G', 'E', 'N', 'T', '1'};

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_RUN_DIRECTORY_H_
