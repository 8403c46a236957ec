// Communicators, windows and files as this process knows them: identity without communication, the
// sequence counter, the checkpoints.
#ifndef ROLLCALL_SHIM_COMMS_H_
#define ROLLCALL_SHIM_COMMS_H_

#include <cstdint>

#include "proto/operations.h"
#include "proto/ring_format.h"
#include "shim/library.h"
#include "shim/platform.h"
#include "shim/process.h"

namespace rollcall::shim {

// Of all collectives of a communicator so far (ring_format.md).
struct RollingHashes {
  uint64_t semantic = 0;
  uint64_t path = 0;
};

// The private side of a ring::Member, at the same index.
struct Comm {
  ring::Member* entry = nullptr;
  Library* library = nullptr;
  uint64_t handle = 0;
  uint64_t map_key = 0;
  uint64_t key = 0;
  uint32_t uid = 0;
  int32_t rank = 0;
  int32_t size = 0;
  int32_t remote_size = 0;
  uint32_t flags = 0;    // ring::MemberFlag
  int32_t indegree = 0;  // topology, for neighborhood collectives
  int32_t outdegree = 0;
  RollingHashes hashes;
  uint32_t made_by = 0;            // as HandleFreed said, while it is being freed
  uint32_t gpu_slot = 0xffffffff;  // NCCL: the ring::GpuProgress used last
  bool asynchronous = false;       // NCCL: answered ncclInProgress before

  bool inter() const { return (flags & ring::kIsInter) != 0; }
};

// The communicator (or window) behind a handle; nullptr if it is not in the table. Lock-free.
Comm* FindComm(const Library& library, Word comm);
// MPI_File handles are pointers in MPICH, too, and go by another key.
Comm* FindFile(Word file);

// MPI_COMM_WORLD and MPI_COMM_SELF, once MPI_Init has returned. Local queries only.
void RegisterWorld(Library* library);
// The same of what a process without MPI_COMM_WORLD is, once MPI_Session_init has returned.
void RegisterSession(Library* library, uint64_t session);

// How a communicator came to be: what its key is made of.
enum class Identity : uint8_t {
  kCollective,  // parent, number on the parent, members
  kGroup,       // parent, members, tag, n-th: the parent's counter does not count
  kIntercomm,   // both groups, tag, n-th
  kFromGroup,   // members, string tag, n-th
  kUnshared,    // nothing that the other side would know: spawn, connect, join
};
struct Creation {
  Operation operation = Operation::kNone;
  const Comm* parent = nullptr;
  uint64_t parent_sequence = 0;
  Identity identity = Identity::kCollective;
  uint64_t tag = 0;  // or a string tag's hash
  uint32_t call_path = 0;
};

// Enters a new communicator; nullptr if the handle is MPI_COMM_NULL or the table is full (counted).
// Makes local queries (members.h, topology.h); allocates.
Comm* RegisterComm(Library* library, uint64_t handle, const Creation& creation);
// A window or file (`flag`), whose members are the communicator's that it was made from.
Comm* RegisterDerived(Library* library, uint64_t handle, uint32_t flag, const char* name,
                      const Creation& creation);

// NCCL: known before the call that makes it, and by other words.
struct NcclIdentity {
  uint64_t key = 0;  // equal on all members
  int32_t rank = -1;
  int32_t size = 0;           // 0: unknown, as is the rank
  uint32_t parent_ranks = 0;  // RankList: its members by their ranks on the parent; 0: unknown
};
// A key for the n-th of those that one member makes alike.
uint64_t NthKey(uint64_t key, int32_t member);
// nullptr if the table is full (counted). It has no handle yet.
Comm* RegisterNccl(Library* library, const Creation& creation, const NcclIdentity& identity);
void BindNcclHandle(Comm* comm, uint64_t handle);
// On which of CUDA's devices it is.
void SetNcclDevice(Comm* comm, int device);
Comm* FindNcclComm(uint64_t handle);
// Not every operation of this member has its number any more: what it lacks, nobody may infer.
void UncountNccl(uint32_t uid);
// Whether this process drives several devices, as far as its communicators say.
bool HasSeveralDevices();

// When the handle is freed, it may name another communicator as soon as the library returns. Find,
// then Forget: before the call with several threads, after it with one, since delete callbacks may
// use it.
void ForgetComm(Comm* comm);
// After a failed free.
void RestoreComm(Comm* comm);

void NameComm(Comm* comm, const char* name);

// A counter that only one thread writes, unless the program has several.
inline uint64_t Increment(uint64_t* word) {
  if (g_process.multiple_threads) return __atomic_add_fetch(word, 1, __ATOMIC_RELAXED);
  const uint64_t value = LoadRelaxed(word) + 1;
  StoreRelaxed(word, value);
  return value;
}

// Counts a collective: its sequence number.
inline uint64_t NextSequence(Comm* comm) { return Increment(&comm->entry->entered); }

// The collective with this number was rejected: the next one gets it, so that a call that took no
// part leaves its communicator as it was. While the call is in flight, so that other threads which
// took a number since are known to have raced with it (kSawConcurrency).
// `before` is what Checkpoint() returned for the number.
void GiveNumberBack(Comm* comm, uint64_t sequence, const RollingHashes& before);

// Rolls both hashes forward and updates the checkpoints (ring_format.md). Not for concurrent use on
// one communicator, which is an error of the program and marked as such (kSawConcurrency). Returns
// the hashes as they were.
RollingHashes Checkpoint(Comm* comm, uint64_t sequence, uint64_t semantic_hash, uint64_t path_hash);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_COMMS_H_
