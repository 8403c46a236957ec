// SPDX-License-Identifier: Apache-2.0
// Communicators, windows and files of this process: identity without communication, the sequence
// counter, the checkpoints.
#ifndef ROLLCALL_SHIM_COMMS_H_
#define ROLLCALL_SHIM_COMMS_H_

#include <cstdint>

#include "proto/operations.h"
#include "proto/ring_format.h"
#include "proto/signature.h"
#include "shim/handle_map.h"
#include "shim/library.h"
#include "shim/platform.h"
#include "shim/process.h"

namespace rollcall::shim {

// Hashes of all collectives of a communicator so far (ring_format.md).
struct RollingHashes {
  uint64_t semantic;
  uint64_t path;
};

// The private part of a ring::Member, at the same index.
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
  // A sequence number with one of these bits changes only the last checkpoint.
  uint32_t checkpoint_mask = 0;
  RollingHashes hashes{};
  // Hash and number of the results read so far that are equal on all members
  // (ring::DataMember::recent). Changed by the holder of a data::DataLog, except for `pending`.
  struct Results {
    uint64_t hash = 0;
    uint64_t count = 0;
    uint32_t pending = 0;  // calls that were entered and are not complete
    bool unknown = false;  // a result was not read
  } results;
  uint32_t made_by = 0;            // result of HandleFreed, while it is being freed
  uint32_t gpu_slot = 0xffffffff;  // NCCL: the most recently used ring::GpuProgress
  bool asynchronous = false;       // NCCL: has returned ncclInProgress

  bool inter() const { return (flags & ring::kIsInter) != 0; }
};

inline constexpr uint32_t kMaxComms = 1024;
extern ROLLCALL_HIDDEN Comm g_comms[kMaxComms];
extern ROLLCALL_HIDDEN HandleMap<4096> g_comms_by_handle;

// The communicator (or window) of a handle; nullptr if it is not in the table. Lock-free.
inline Comm* FindComm(const Library& library, Word comm) {
  const uint32_t index = g_comms_by_handle.Find(library.KeyOf(library.Handle(comm)));
  return index < kMaxComms ? &g_comms[index] : nullptr;
}
// The same for MPI_File handles, which are pointers also in MPICH, and have another key.
Comm* FindFile(Word file);

// Registers MPI_COMM_WORLD and MPI_COMM_SELF after MPI_Init has returned. Local queries only.
void RegisterWorld(Library* library);
// Like RegisterWorld, for a process without MPI_COMM_WORLD, after MPI_Session_init has returned.
void RegisterSession(Library* library, uint64_t session);

// How a communicator was created: the components of its key.
enum class Identity : uint8_t {
  kCollective,  // parent, number on the parent, members
  kGroup,       // parent, members, tag, n-th with these; the parent's counter does not count it
  kIntercomm,   // both groups, tag, n-th with these
  kFromGroup,   // members, string tag, n-th with these
  kUnshared,    // nothing that the other side knows as well: spawn, connect, join
};
struct Creation {
  Operation operation = Operation::kNone;
  const Comm* parent = nullptr;
  uint64_t parent_sequence = 0;
  Identity identity = Identity::kCollective;
  uint64_t tag = 0;  // or the hash of a string tag
  uint32_t call_path = 0;
};

// Enters a new communicator; nullptr if the handle is MPI_COMM_NULL or the table is full (counted).
// Makes local queries (members.h, topology.h); allocates.
Comm* RegisterComm(Library* library, uint64_t handle, const Creation& creation);
// Enters a window or file (`flag`). Its members are those of the communicator that it was created
// from.
Comm* RegisterDerived(Library* library, uint64_t handle, uint32_t flag, const char* name,
                      const Creation& creation);

// The identity of an NCCL communicator or a process group of PyTorch, known before the call that
// creates it.
struct KnownIdentity {
  uint64_t key = 0;  // equal on all members
  int32_t rank = -1;
  int32_t size = 0;               // 0: unknown, as is the rank
  uint32_t parent_ranks = 0;      // RankList: the members' ranks in the parent; 0: unknown
  uint32_t flag = ring::kIsNccl;  // or kIsC10d, or both: a process group that NCCL carries
  uint32_t name = 0;              // StringRef; 0: none
};
// Returns a key for the n-th communicator that one member creates with the same data.
uint64_t NthKey(uint64_t key, int32_t member);
// Enters a communicator that has no handle yet. Returns nullptr if the table is full (counted).
Comm* RegisterWithKey(Library* library, const Creation& creation, const KnownIdentity& identity);
void BindHandle(Comm* comm, uint64_t handle);
// Sets its CUDA device.
void SetNcclDevice(Comm* comm, int device);
inline uint64_t NcclKey(uint64_t handle) {
  return handle ^ uint64_t { 5 } << 60;
}
inline Comm* FindByHandle(uint64_t handle) {
  const uint32_t index = g_comms_by_handle.Find(NcclKey(handle));
  return index < kMaxComms ? &g_comms[index] : nullptr;
}
// Marks a member that has operations without a sequence number, so that no reader infers that
// operations are missing.
void MarkUncounted(uint32_t uid);
// True if this process drives several devices, as its communicators show.
bool HasSeveralDevices();

// Removes a freed communicator. With several threads, call it before the library frees the handle:
// as soon as the library returns, the handle may denote another communicator. With one thread, call
// it after the free (with the Comm found before), because delete callbacks may use the
// communicator.
void UnregisterComm(Comm* comm);
// Undoes UnregisterComm after a failed free.
void RestoreComm(Comm* comm);

void NameComm(Comm* comm, const char* name);

// Increments a counter; atomically if the program has several threads.
inline uint64_t Increment(uint64_t* word) {
  if (__builtin_expect(g_process.multiple_threads, 0)) {
    return __atomic_add_fetch(word, 1, __ATOMIC_RELAXED);
  }
  const uint64_t value = LoadRelaxed(word) + 1;
  StoreRelaxed(word, value);
  return value;
}

// Counts a collective and returns its sequence number.
inline uint64_t NextSequence(Comm* comm) { return Increment(&comm->entry->entered); }

// Returns the number of a rejected collective, so that the next collective gets it and the rejected
// call leaves its communicator unchanged. Call it while the rejected call is in flight: a thread
// that took a number meanwhile has then raced with it (kSawConcurrency). `before` is what
// Checkpoint() returned for the number.
void ReleaseSequence(Comm* comm, uint64_t sequence, const RollingHashes& before);

inline void SetCheckpoint(ring::Checkpoint* checkpoint, uint64_t sequence,
                          const RollingHashes& hashes) {
  StoreRelaxed(&checkpoint->sequence, uint64_t{0});
  std::atomic_thread_fence(std::memory_order_release);
  StoreRelaxed(&checkpoint->semantic_hash, hashes.semantic);
  StoreRelaxed(&checkpoint->path_hash, hashes.path);
  StoreRelease(&checkpoint->sequence, sequence);
}
// The checkpoints of `sequence` other than the last one.
void SetOlderCheckpoints(Comm* comm, uint64_t sequence, RollingHashes now);

// Updates both hashes and the checkpoints (ring_format.md). Returns the previous hashes. Concurrent
// calls for one communicator are an error of the program, which EnterFlight() marks
// (kSawConcurrency).
inline RollingHashes Checkpoint(Comm* comm, uint64_t sequence, uint64_t semantic_hash,
                                uint64_t path_hash) {
  const RollingHashes before = comm->hashes;
  const RollingHashes now = {RollHash(before.semantic, semantic_hash),
                             RollHash(before.path, path_hash)};
  comm->hashes = now;
  SetCheckpoint(&comm->entry->recent[0], sequence, now);
  if ((sequence & comm->checkpoint_mask) == 0) SetOlderCheckpoints(comm, sequence, now);
  return before;
}

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_COMMS_H_
