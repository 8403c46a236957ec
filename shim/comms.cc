// SPDX-License-Identifier: Apache-2.0
#include "shim/comms.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "shim/leftovers.h"
#include "shim/members.h"
#include "shim/spin_lock.h"
#include "shim/topology.h"

namespace rollcall::shim {

constinit Comm g_comms[kMaxComms];
constinit HandleMap<4096> g_comms_by_handle;

namespace {

std::atomic<uint32_t> g_next_uid{1};
constinit SpinLock g_table_lock;  // of g_used, g_comms and the counters of CountCreations()
uint32_t g_used = 0;
std::atomic<bool> g_several_devices{false};

uint64_t FileKey(uint64_t handle) {
  return handle ^ uint64_t { 3 } << 60;
}

// Returns an unused table entry or, if there is none, the one that was freed longest ago; kMaxComms
// if all are live.
uint32_t TakeEntry() {
  ring::Section* section = g_process.Of(ring::SectionKind::kMembers);
  auto* table = g_process.Table<ring::Member>(ring::SectionKind::kMembers);
  if (g_used < section->capacity && g_used < kMaxComms) {
    StoreRelease(&section->used, static_cast<uint64_t>(g_used) + 1);
    return g_used++;
  }
  uint32_t oldest = kMaxComms;
  for (uint32_t i = 0; i < g_used; ++i) {
    if (table[i].state != static_cast<uint32_t>(ring::MemberState::kFreed)) continue;
    if (oldest == kMaxComms || table[i].freed_ticks < table[oldest].freed_ticks) oldest = i;
  }
  if (oldest == kMaxComms) __atomic_fetch_add(&section->lost, 1, __ATOMIC_RELAXED);
  return oldest;
}

// Stores in *nth how many communicators with this key were created before, for communicators whose
// creation has no sequence number on a parent (create_group and the like). False if there is no
// room to count.
bool CountCreations(uint64_t key, uint64_t* nth) {
  struct CreationCount {
    uint64_t key;
    uint64_t count;
  };
  constexpr uint32_t kSize = 1024;
  static constinit CreationCount counts[kSize] = {};
  for (uint32_t i = 0; i < kSize; ++i) {
    CreationCount& cell = counts[(key + i) % kSize];
    if (cell.key != key && cell.key != 0) continue;
    cell.key = key;
    *nth = cell.count++;
    return true;
  }
  return false;
}

// Returns a key that is equal on all members; sets *weak if that is uncertain.
uint64_t KeyOf(const Creation& creation, const Members& local, const Members& remote, bool* weak) {
  const uint64_t parent = creation.parent != nullptr ? creation.parent->key : 0;
  // Order the groups, since the two sides of an intercommunicator see them swapped.
  const uint64_t low = local.hash < remote.hash ? local.hash : remote.hash;
  const uint64_t high = local.hash < remote.hash ? remote.hash : local.hash;
  uint64_t key = 0;
  switch (creation.identity) {
    case Identity::kCollective:
      return Mix64(Mix64(Mix64(parent, creation.parent_sequence), low), high);
    case Identity::kGroup:
      key = Mix64(Mix64(Mix64(parent, local.hash), creation.tag), 0x9c);
      break;
    case Identity::kIntercomm:  // no parent: each side has its own
      key = Mix64(Mix64(Mix64(low, high), creation.tag), 0x1c);
      break;
    case Identity::kFromGroup:
      key = Mix64(Mix64(Mix64(low, high), creation.tag), 0x5e);
      break;
    case Identity::kUnshared:
      *weak = true;
      // The key is equal on the processes of one side only. In a join, each side is one process.
      key = creation.operation == Operation::kComm_join ? g_process.header->pid
                                                        : g_process.header->job_key;
      return Mix64(Mix64(parent, creation.parent_sequence), Mix64(local.hash, key));
  }
  uint64_t nth = 0;
  if (!CountCreations(key, &nth)) *weak = true;
  return Mix64(key, nth);
}

struct Lists {
  uint32_t ranks = 0, remote_ranks = 0, sources = 0, destinations = 0, name = 0;
};

void FillIdentity(const Comm& comm, const Creation& creation, const Lists& lists) {
  ring::Member* entry = comm.entry;
  StoreRelaxed(&entry->lock, entry->lock | 1);
  std::atomic_thread_fence(std::memory_order_release);
  const uint64_t lock = entry->lock;
  memset(static_cast<void*>(entry), 0, sizeof(*entry));
  entry->lock = lock;
  entry->uid = comm.uid;
  entry->key = comm.key;
  entry->parent_key = creation.parent != nullptr ? creation.parent->key : 0;
  entry->parent_sequence = creation.parent_sequence;
  entry->creating_operation = static_cast<uint16_t>(creation.operation);
  entry->flags = comm.flags;
  entry->rank = comm.rank;
  entry->size = comm.size;
  entry->remote_size = comm.remote_size;
  entry->ranks = lists.ranks;
  entry->remote_ranks = lists.remote_ranks;
  entry->neighbors_in = lists.sources;
  entry->neighbors_out = lists.destinations;
  entry->name = lists.name;
  entry->created_ticks = Ticks();
  entry->history_stride = 1;
  entry->state = static_cast<uint32_t>(ring::MemberState::kLive);
  StoreRelease(&entry->lock, lock + 1);
}

// Adds `comm`, which is complete except for its position in the tables.
Comm* Enter(Comm comm, const Creation& creation, const Lists& lists) {
  const SpinGuard guard(g_table_lock);
  const uint32_t index = TakeEntry();
  if (index >= kMaxComms) return nullptr;
  comm.entry = g_process.Table<ring::Member>(ring::SectionKind::kMembers) + index;
  comm.uid = g_next_uid.fetch_add(1);
  g_comms[index] = comm;
  FillIdentity(g_comms[index], creation, lists);
  if (comm.map_key != 0 && !g_comms_by_handle.Insert(comm.map_key, index)) {
    __atomic_fetch_add(&g_process.Of(ring::SectionKind::kMembers)->lost, 1, __ATOMIC_RELAXED);
  }
  return &g_comms[index];
}

// Queries the library for the properties of a communicator. False if the queries fail.
bool Describe(Library* library, uint64_t handle, Comm* comm) {
  const Queries& query = library->query;
  int inter = 0;
  if (query.Comm_rank == nullptr || query.Comm_size == nullptr ||
      query.Comm_test_inter == nullptr || query.Comm_rank(handle, &comm->rank) != 0 ||
      query.Comm_size(handle, &comm->size) != 0) {
    return false;
  }
  query.Comm_test_inter(handle, &inter);
  if (inter != 0) {
    comm->flags |= ring::kIsInter;
    if (query.Comm_remote_size != nullptr) query.Comm_remote_size(handle, &comm->remote_size);
  }
  comm->library = library;
  comm->handle = handle;
  comm->map_key = library->KeyOf(handle);
  return true;
}

Comm* RegisterPredefined(Library* library, uint64_t fixed, int fortran, uint32_t flag,
                         const char* name) {
  // The handle is not the address of the library's symbol: with a COPY relocation, that address
  // differs from the program's.
  uint64_t handle = fixed;
  if (handle == 0 && library->query.Comm_f2c != nullptr) {
    handle = library->Handle(library->query.Comm_f2c(fortran));
  }
  if (handle == 0) return nullptr;
  if (Comm* known = FindComm(*library, handle)) return known;
  Comm comm;
  if (!Describe(library, handle, &comm)) return nullptr;
  comm.flags |= flag;
  const uint64_t job = Mix64(g_process.header->job_key, static_cast<uint64_t>(library->abi.flavor));
  const int first = flag == ring::kIsWorld      ? 0
                    : library->world != nullptr ? library->world->rank
                                                : -1;
  const ring::RankRun all{first, 1, static_cast<uint32_t>(comm.size)};
  if (flag == ring::kIsWorld) {
    comm.key = Mix64(Mix64(job, 0x574f524c44), static_cast<uint64_t>(comm.size));
  } else {
    const uint64_t rank =
        library->world != nullptr ? static_cast<uint64_t>(library->world->rank) : 0;
    comm.key = Mix64(Mix64(job, 0x53454c46), rank);
  }
  Lists lists;
  if (first >= 0) lists.ranks = InternBytes(&all, sizeof(all));
  lists.name = InternString(name);
  return Enter(comm, {}, lists);
}

void DescribeProcess(const Library& library, int rank, int size, int level) {
  static char
      version[8192 + 1];  // MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI, 8192 in MPICH
  int length = 0;
  if (library.query.Get_library_version == nullptr ||
      library.query.Get_library_version(version, &length) != 0) {
    version[0] = '\0';
  }
  SetWorld(rank, size, level, version, library.abi.flavor);
}

}  // namespace

Comm* FindFile(Word file) {
  const uint32_t index = g_comms_by_handle.Find(FileKey(file));
  return index < kMaxComms ? &g_comms[index] : nullptr;
}

void RegisterWorld(Library* library) {
  const ErrnoGuard keeper;
  library->world =
      RegisterPredefined(library, library->abi.world, 0, ring::kIsWorld, "MPI_COMM_WORLD");
  RegisterPredefined(library, library->abi.self, 1, ring::kIsSelf, "MPI_COMM_SELF");
  // A second library in the process must not overwrite the data of the first one.
  if (LoadRelaxed(&g_process.header->world_rank) >= 0 && library->world == nullptr) return;
  int level = 3;
  if (library->query.Query_thread == nullptr || library->query.Query_thread(&level) != 0 ||
      level < 0 || level > 3) {
    level = 3;  // 0 to 3 in all three ABIs; anything else counts as MPI_THREAD_MULTIPLE
  }
  if (library->world != nullptr) {
    DescribeProcess(*library, library->world->rank, library->world->size, level);
  }
}

void RegisterSession(Library* library, uint64_t session) {
  const ErrnoGuard keeper;
  library->session = session;
  int rank = -1, size = -1;
  if (library->world != nullptr || !FindWorldOfSession(*library, &rank, &size)) return;
  DescribeProcess(*library, rank, size, 3);
}

Comm* RegisterComm(Library* library, uint64_t handle, const Creation& creation) {
  if (handle == library->abi.comm_null || handle == 0) return nullptr;
  const ErrnoGuard keeper;
  Comm comm;
  if (!Describe(library, handle, &comm)) return nullptr;
  Members local, remote;
  Topology topology;
  FindMembers(*library, handle, false, &local);
  if (comm.inter()) {
    FindMembers(*library, handle, true, &remote);
  } else {
    FindTopology(*library, handle, comm.rank, &topology);
  }
  bool weak = !local.known || (comm.inter() && !remote.known) || creation.parent == nullptr ||
              (creation.parent->flags & ring::kWeakIdentity) != 0;
  if (creation.identity == Identity::kFromGroup || creation.identity == Identity::kIntercomm) {
    weak = !local.known || (comm.inter() && !remote.known);
  }
  Lists lists;
  if (local.world != nullptr) lists.ranks = InternRanks(local.world, local.size);
  if (remote.world != nullptr) lists.remote_ranks = InternRanks(remote.world, remote.size);
  if (topology.flag != 0) {
    lists.sources = InternRanks(topology.sources, topology.indegree);
    lists.destinations = InternRanks(topology.destinations, topology.outdegree);
  }
  {
    const SpinGuard guard(g_table_lock);  // protects CountCreations's counters
    comm.key = KeyOf(creation, local, remote, &weak);
  }
  comm.flags |= topology.flag | (weak ? static_cast<uint32_t>(ring::kWeakIdentity) : 0u);
  comm.indegree = topology.indegree;
  comm.outdegree = topology.outdegree;
  Comm* entered = Enter(comm, creation, lists);
  if (entered != nullptr && creation.operation != Operation::kComm_get_parent) {
    HandleCreated(*library, handle, creation.operation, creation.call_path);
  }
  return entered;
}

Comm* RegisterDerived(Library* library, uint64_t handle, uint32_t flag, const char* name,
                      const Creation& creation) {
  if (handle == 0 || (flag == ring::kIsWindow && handle == library->abi.win_null)) return nullptr;
  const ErrnoGuard keeper;
  Comm comm;
  Lists lists;
  comm.library = library;
  comm.handle = handle;
  comm.map_key = flag == ring::kIsFile ? FileKey(handle) : library->KeyOf(handle);
  comm.flags = flag;
  if (const Comm* parent = creation.parent) {
    comm.rank = parent->rank;
    comm.size = parent->size;
    comm.flags |= parent->flags & ring::kWeakIdentity;
    lists.ranks = parent->entry->ranks;
  } else {
    comm.rank = -1;
    comm.flags |= ring::kWeakIdentity;
  }
  if (name != nullptr) {
    char copy[256];
    strncpy(copy, name, sizeof(copy) - 1);
    copy[sizeof(copy) - 1] = '\0';
    lists.name = InternString(copy);
  }
  const uint64_t parent_key = creation.parent != nullptr ? creation.parent->key : 0;
  comm.key = Mix64(Mix64(parent_key, creation.parent_sequence), flag);
  return Enter(comm, creation, lists);
}

Comm* RegisterWithKey(Library* library, const Creation& creation, const KnownIdentity& identity) {
  const ErrnoGuard keeper;
  Comm comm;
  comm.library = library;
  comm.key = identity.key;
  comm.rank = identity.rank;
  comm.size = identity.size;
  comm.flags = identity.flag;
  if (identity.rank < 0) comm.flags |= ring::kWeakIdentity;
  Comm* entered = Enter(comm, creation, {.ranks = identity.parent_ranks, .name = identity.name});
  if (identity.flag != ring::kIsNccl) return entered;
  // After Enter(): of two threads that create communicators at the same time, one finds the
  // other's.
  const SpinGuard guard(g_table_lock);
  for (uint32_t i = 0; i < g_used; ++i) {
    if (g_comms[i].key == identity.key && g_comms[i].rank != identity.rank) {
      g_several_devices.store(true, std::memory_order_relaxed);
    }
  }
  return entered;
}

uint64_t NthKey(uint64_t key, int32_t member) {
  const SpinGuard guard(g_table_lock);
  uint64_t nth = 0;
  CountCreations(Mix64(key, static_cast<uint32_t>(member)), &nth);
  return Mix64(key, nth);
}

void BindHandle(Comm* comm, uint64_t handle) {
  comm->handle = handle;
  comm->map_key = NcclKey(handle);
  if (!g_comms_by_handle.Insert(comm->map_key, static_cast<uint32_t>(comm - g_comms))) {
    __atomic_fetch_add(&g_process.Of(ring::SectionKind::kMembers)->lost, 1, __ATOMIC_RELAXED);
  }
}

void SetNcclDevice(Comm* comm, int device) {
  if (device < 0 || device >= 0xffff) return;
  const auto number = static_cast<uint16_t>(device + 1);
  StoreRelaxed(&comm->entry->device, number);
  const SpinGuard guard(g_table_lock);
  for (uint32_t i = 0; i < g_used; ++i) {
    const uint16_t other = LoadRelaxed(&g_comms[i].entry->device);
    if (other != 0 && other != number) g_several_devices.store(true, std::memory_order_relaxed);
  }
}

void MarkUncounted(uint32_t uid) {
  const SpinGuard guard(g_table_lock);
  for (uint32_t i = 0; i < g_used; ++i) {
    if (g_comms[i].uid != uid) continue;
    __atomic_fetch_or(&g_comms[i].entry->flags, ring::kWeakIdentity, __ATOMIC_RELAXED);
  }
}

bool HasSeveralDevices() { return g_several_devices.load(std::memory_order_relaxed); }

void UnregisterComm(Comm* comm) {
  if (comm->map_key != 0) g_comms_by_handle.Erase(comm->map_key);
  if (comm->library != nullptr) comm->made_by = HandleFreed(*comm->library, comm->handle);
  StoreRelaxed(&comm->entry->freed_ticks, Ticks());
  StoreRelease(&comm->entry->state, static_cast<uint32_t>(ring::MemberState::kFreed));
}

void RestoreComm(Comm* comm) {
  StoreRelease(&comm->entry->state, static_cast<uint32_t>(ring::MemberState::kLive));
  g_comms_by_handle.Insert(comm->map_key, static_cast<uint32_t>(comm - g_comms));
  if (comm->library != nullptr) UndoHandleFreed(*comm->library, comm->handle, comm->made_by);
}

void NameComm(Comm* comm, const char* name) {
  const ErrnoGuard keeper;
  char copy[128];
  strncpy(copy, name, sizeof(copy) - 1);
  copy[sizeof(copy) - 1] = '\0';
  StoreRelease(&comm->entry->name, InternString(copy));
}

}  // namespace rollcall::shim
