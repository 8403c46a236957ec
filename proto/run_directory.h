// Names inside a run directory: what the shim, the agent and `rollcall analyze` agree on.
//
//   <run directory>/             mode 0700, owned by the user; by default on /dev/shm
//     rings/<host>-<pid>-<hex>.ring   one per process, mode 0600 (ring_format.h)
//     journal.jsonl              what only the live side can see (collector/import/journal.md)
//     agent.sock                 the agent's Unix socket (below)
//
// When shared memory is too small for a ring file the shim makes a memfd and hands it to the agent:
// one SCM_RIGHTS message on agent.sock (SOCK_STREAM) that holds the descriptor and an AgentHello,
// sent without blocking, no answer expected. The agent keeps the descriptor, which keeps the ring
// alive after the process, and copies it into the run directory when the process ends.
//
// The agent listens on the same name in the abstract namespace, too (a NUL, and the path behind
// it): a rank in a mount namespace of its own, whose /dev/shm has no run directory, reaches that
// one. Anybody can listen there, so the shim sends nothing to a listener of another user. A rank
// that cannot record at all sends an AgentHello without a descriptor, with the reason for a name.
#ifndef ROLLCALL_PROTO_RUN_DIRECTORY_H_
#define ROLLCALL_PROTO_RUN_DIRECTORY_H_

#include <cstdint>

namespace rollcall {

inline constexpr char kRingsDirectory[] = "rings";
inline constexpr char kRingSuffix[] = ".ring";
inline constexpr char kJournalFile[] = "journal.jsonl";
inline constexpr char kAgentSocket[] = "agent.sock";
// Run directories are made below this one as <prefix><uid>/<run>; mode 0700, owner checked.
inline constexpr char kSharedMemory[] = "/dev/shm";
inline constexpr char kRunRootPrefix[] = "rollcall-";

// All rings of a node together take at most this fraction of what is free in shared memory.
inline constexpr uint64_t kSharedMemoryShare = 16;

struct AgentHello {
  char magic[8];        // kAgentMagic
  uint32_t version;     // 1
  uint32_t pid;         // as the process sees itself
  char ring_name[112];  // file name the ring would have had, or the reason; NUL-terminated
};
static_assert(sizeof(AgentHello) == 128);
inline constexpr char kAgentMagic[8] = {'R', 'C', 'A', 'G', 'E', 'N', 'T', '1'};

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_RUN_DIRECTORY_H_
