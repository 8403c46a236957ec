// SPDX-License-Identifier: Apache-2.0
#include "shim/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "proto/operations.h"
#include "shim/loaded_object.h"
#include "shim/platform.h"
#include "shim/spin_lock.h"

namespace rollcall::shim {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};

// Open MPI 4.1 mpi.h: handles are addresses of exported objects.
constexpr Abi kOpenMpi = {.flavor = ring::Flavor::kOpenMpi,
                          .handle_bytes = 8,
                          .handle_mask = kAll,
                          .comm_null = 0,
                          .request_null = 0,
                          .datatype_null = 0,  // addresses: filled in by Describe
                          .status_ignore = 0,
                          .in_place = 1,
                          .any_source = -1,
                          .proc_null = -2,
                          .root = -4,
                          .any_tag = -1,
                          .undefined = -32766,
                          .status_bytes = 24,
                          .status_source = 0,
                          .status_tag = 4,
                          .status_error = 8,
                          .err_in_status = 18,
                          .combiner_named = 0,
                          .cart = 1,
                          .graph = 2,
                          .dist_graph = 3,
                          .request_empty = 0,
                          .message_null = 0,
                          .message_no_proc = 0,
                          .win_null = 0,
                          .group_null = 0,
                          .group_empty = 0,
                          .world = 0,
                          .self = 0};

// MPICH 4.0 mpi.h (and the MPICH ABI: Intel MPI, MVAPICH, Cray MPICH).
constexpr Abi kMpich = {.flavor = ring::Flavor::kMpich,
                        .handle_bytes = 4,
                        .handle_mask = 0xffffffff,
                        .comm_null = 0x04000000,
                        .request_null = 0x2c000000,
                        .datatype_null = 0x0c000000,
                        .status_ignore = 1,
                        .in_place = kAll,
                        .any_source = -2,
                        .proc_null = -1,
                        .root = -3,
                        .any_tag = -1,
                        .undefined = -32766,
                        .status_bytes = 20,
                        .status_source = 8,
                        .status_tag = 12,
                        .status_error = 16,
                        .err_in_status = 17,
                        .combiner_named = 1,
                        .cart = 2,
                        .graph = 1,
                        .dist_graph = 3,
                        .request_empty = 0,
                        .message_null = 0x2c000000,
                        .message_no_proc = 0x6c000000,
                        .win_null = 0x20000000,
                        .group_null = 0x08000000,
                        .group_empty = 0x48000000,
                        .world = 0x44000000,
                        .self = 0x44000001};

// MPI 5.0, chapter 20 (Application Binary Interface). Not tested with a library.
constexpr Abi kStandard = {.flavor = ring::Flavor::kMpiStandardAbi,
                           .handle_bytes = 8,
                           .handle_mask = kAll,
                           .comm_null = 0x100,
                           .request_null = 0x180,
                           .datatype_null = 0x200,
                           .status_ignore = 0,
                           .in_place = 1,
                           .any_source = -1,
                           .proc_null = -3,
                           .root = -4,
                           .any_tag = -2,
                           .undefined = -32766,
                           .status_bytes = 32,
                           .status_source = 0,
                           .status_tag = 4,
                           .status_error = 8,
                           .err_in_status = 19,
                           .combiner_named = 1,
                           .cart = -1,
                           .graph = -1,
                           .dist_graph = -1,  // unknown: topologies are not recorded
                           .request_empty = 0,
                           .message_null = 0x1c0,
                           .message_no_proc = 0x1c1,
                           .win_null = 0x110,
                           .group_null = 0x108,
                           .group_empty = 0x109,
                           .world = 0x101,
                           .self = 0x102};

// _dl_find_object of glibc 2.35: lock-free and async-signal-safe. Found by dlsym, so that the shim
// also works with older versions.
using FindObject = int (*)(void*, dl_find_object*);
constinit FindObject g_find_object = nullptr;

constexpr uint32_t kMaxLibraries = 4;
constinit Library g_libraries[kMaxLibraries];
std::atomic<uint32_t> g_library_count{0};
constinit SpinLock g_library_lock;

template <typename F>
void Bind(void* handle, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(handle, name));
}

uint64_t Address(void* handle, const char* name) {
  return reinterpret_cast<uint64_t>(dlsym(handle, name));
}

// Returns the address that both the program and the library use. A COPY relocation moves the object
// into the program, where RTLD_DEFAULT finds it and RTLD_NEXT does not.
uint64_t SharedAddress(void* handle, const char* name) {
  const uint64_t global = Address(RTLD_DEFAULT, name);
  return global != 0 ? global : Address(handle, name);
}

Abi AbiOf(void* handle, const Dl_info& where) {
  if (dlsym(handle, "ompi_mpi_comm_world") != nullptr) return kOpenMpi;
  const bool standard = dlsym(handle, "MPI_Abi_get_version") != nullptr &&
                        where.dli_fname != nullptr && strstr(where.dli_fname, "mpi_abi") != nullptr;
  return standard ? kStandard : kMpich;
}

void BindQueries(void* handle, Queries* query) {
#define BIND(result, name, parameters) Bind(handle, "PMPI_" #name, &query->name);
  ROLLCALL_QUERIES(BIND)
#undef BIND
}

void FindReduceOps(Library* library, void* handle) {
  for (const ReduceName& name : kReduceNames) {
    const int index = static_cast<int>(name.op);
    switch (library->abi.flavor) {
      case ring::Flavor::kOpenMpi:
        // A COPY relocation gives the program an object of its own. Both addresses denote the
        // operation.
        library->reduce_ops[index] = Address(handle, name.open_mpi);
        library->reduce_ops_copied[index] = Address(RTLD_DEFAULT, name.open_mpi);
        break;
      case ring::Flavor::kMpiStandardAbi:
        library->reduce_ops[index] = name.standard;
        break;
      default:
        library->reduce_ops[index] = name.mpich;
    }
  }
}

// Open MPI's null handles are addresses.
void FindNullHandles(void* handle, Abi* abi) {
  abi->request_null = SharedAddress(handle, "ompi_request_null");
  abi->comm_null = SharedAddress(handle, "ompi_mpi_comm_null");
  abi->datatype_null = SharedAddress(handle, "ompi_mpi_datatype_null");
  abi->request_empty = SharedAddress(handle, "ompi_request_empty");
  abi->message_null = SharedAddress(handle, "ompi_message_null");
  abi->message_no_proc = SharedAddress(handle, "ompi_message_no_proc");
  abi->win_null = SharedAddress(handle, "ompi_mpi_win_null");
  abi->group_null = SharedAddress(handle, "ompi_mpi_group_null");
  abi->group_empty = SharedAddress(handle, "ompi_mpi_group_empty");
}

void Describe(Library* library, void* handle, const void* function) {
  library->handle = handle;
  Bind(RTLD_DEFAULT, "_dl_find_object", &g_find_object);
  Dl_info where{};
  void* own = nullptr;
  if (dladdr(function, &where) != 0) {
    library->core_start = reinterpret_cast<uint64_t>(where.dli_fbase);
    library->core_end = RangeAt(where.dli_fbase).end;
    // A second MPI library, with which a dependency of the program was linked, may follow in the
    // scope of `handle`. Functions of that library must not be called.
    if (where.dli_fname != nullptr) own = dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  }
  // `function` may be the PMPI_Init of a tool. The tool's own file then lacks PMPI_Comm_rank.
  const bool complete = own != nullptr && dlsym(own, "PMPI_Comm_rank") != nullptr;
  void* scope = complete ? own : handle;
  library->abi = AbiOf(scope, where);
  BindQueries(scope, &library->query);
  FindReduceOps(library, scope);
  if (library->abi.flavor == ring::Flavor::kOpenMpi) FindNullHandles(scope, &library->abi);
  if (own != nullptr) dlclose(own);
}

// List of the wrappers that have stored their next function. When a second library appears in the
// process, the stored functions are cleared, and from then on the function of every call is looked
// up by its caller.
std::atomic<NextFunction*> g_known{nullptr};

void ClearNextFunctions() {
  for (NextFunction* next = g_known.load(std::memory_order_acquire); next != nullptr;
       next = next->known_before) {
    next->function.store(nullptr, std::memory_order_release);
  }
}

void Keep(NextFunction* next, void* function, Library* library) {
  if (library == nullptr || g_library_count.load(std::memory_order_acquire) != 1) return;
  next->library.store(library, std::memory_order_relaxed);
  if (!next->listed.exchange(true)) {
    next->known_before = g_known.load(std::memory_order_relaxed);
    while (!g_known.compare_exchange_weak(next->known_before, next, std::memory_order_release)) {
    }
  }
  next->function.store(function, std::memory_order_seq_cst);
  // A second library may have appeared before this function was stored.
  if (g_library_count.load(std::memory_order_seq_cst) != 1) {
    next->function.store(nullptr, std::memory_order_release);
  }
}

Library* LibraryWith(void* handle, const void* function) {
  Dl_info where;
  if (dladdr(function, &where) == 0) return nullptr;
  const auto base = reinterpret_cast<uint64_t>(where.dli_fbase);
  const SpinGuard guard(g_library_lock);
  Library* found = nullptr;
  const uint32_t count = g_library_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    if (g_libraries[i].handle == handle || g_libraries[i].core_start == base)
      found = &g_libraries[i];
  }
  if (found == nullptr && count < kMaxLibraries) {
    found = &g_libraries[count];
    Describe(found, handle, function);
    g_library_count.store(count + 1, std::memory_order_seq_cst);
    if (count == 1) ClearNextFunctions();
  }
  return found;
}

// The scope of the object that contains `caller`: the object itself and its dependencies.
void* ScopeOf(const void* caller) {
  Dl_info where;
  if (dladdr(caller, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  return dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
}

bool StartsWith(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

// True for files that implement MPI, false for language bindings and everything else.
bool IsMpiFile(const char* path) {
  const char* name = strrchr(path, '/');
  name = name == nullptr ? path : name + 1;
  // A fast exit: most callers are the program itself.
  if (!StartsWith(name, "lib") && !StartsWith(name, "mca_")) return false;
  bool implements = false;
  for (const char* prefix :
       {"libmpi.", "libmpi_abi", "libmpich", "libpmpi", "libmpi-", "mca_", "libmca_", "libopen-rte",
        "libopen-pal", "libmpi_mt", "libhcoll", "libpmix"}) {
    implements |= StartsWith(name, prefix);
  }
  if (!implements) return false;
  for (const char* binding : {"fort", "mpifh", "usempi", "cxx", "java"}) {
    if (strstr(name, binding) != nullptr) return false;
  }
  return true;
}

// The file of the object that contains `address`; nullptr if there is none. Owned by the loader.
const char* FileAt(const void* address) {
  const ErrnoGuard keeper;
  if (g_find_object != nullptr) {
    dl_find_object found;
    const bool known = g_find_object(const_cast<void*>(address), &found) == 0;
    return known && found.dlfo_link_map != nullptr ? found.dlfo_link_map->l_name : nullptr;
  }
  Dl_info where;
  return dladdr(address, &where) != 0 ? where.dli_fname : nullptr;
}

// True if an MPI library was in the global scope before any MPI library was initialised. In that
// case every caller was bound to it. The result is determined once, before the first
// initialisation: Open MPI moves itself into the global scope while it initialises, because its
// plugins have to find it, and that does not change earlier bindings.
bool GlobalFromTheStart() {
  // An atomic and not a function-local static with an initialiser, whose guard would pull in
  // libstdc++'s exceptions. All threads find the same answer.
  static std::atomic<int> answer{0};
  int known = answer.load(std::memory_order_relaxed);
  if (known == 0) {
    known = dlsym(RTLD_NEXT, "PMPI_Init") != nullptr ? 1 : -1;
    int expected = 0;
    if (!answer.compare_exchange_strong(expected, known)) known = expected;
  }
  return known > 0;
}

// Looks `name` up in the scope in which `caller` was bound. Returns nullptr if it is not found, or
// if it is the shim's own function.
void* FindLocal(const void* caller, const char* name, Library** library_out) {
  void* scope = ScopeOf(caller);
  if (scope == nullptr) return nullptr;
  void* found = dlsym(scope, name);
  void* home = dlsym(scope, "PMPI_Init");
  Dl_info self, other;
  if (found != nullptr && home != nullptr && dladdr(found, &other) != 0 &&
      dladdr(reinterpret_cast<const void*>(&IsMpiFile), &self) != 0 &&
      other.dli_fbase != self.dli_fbase) {
    *library_out = LibraryWith(scope, home);
  } else {
    found = nullptr;
  }
  dlclose(scope);
  return found;
}

}  // namespace

NextFunction::Found NextFunction::Find(const void* caller) {
  const ErrnoGuard keeper;
  Found found{nullptr, nullptr};
  if (!GlobalFromTheStart()) found.function = FindLocal(caller, name, &found.library);
  if (found.function == nullptr) {
    found.function = dlsym(RTLD_NEXT, name);
    if (found.function == nullptr) return {nullptr, nullptr};
    // PMPI_Init is in the MPI library itself, even if a PMPI tool intercepts `name`.
    void* home = dlsym(RTLD_NEXT, "PMPI_Init");
    found.library = LibraryWith(RTLD_NEXT, home != nullptr ? home : found.function);
  }
  Keep(this, found.function, found.library);
  return found;
}

const Abi& AbiOf(ring::Flavor flavor) {
  if (flavor == ring::Flavor::kOpenMpi) return kOpenMpi;
  return flavor == ring::Flavor::kMpiStandardAbi ? kStandard : kMpich;
}

bool IsInsideMpi(const void* address) {
  const auto word = reinterpret_cast<uint64_t>(address);
  const uint32_t count = g_library_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (word >= g_libraries[i].core_start && word < g_libraries[i].core_end) return true;
  }
  const char* file = FileAt(address);
  return file != nullptr && IsMpiFile(file);
}

bool IsInMpiItself(const void* address) {
  const char* file = FileAt(address);
  if (file == nullptr || !IsMpiFile(file)) return false;
  const char* name = strrchr(file, '/');
  name = name == nullptr ? file : name + 1;
  return StartsWith(name, "libmpi") || StartsWith(name, "libpmpi");
}

}  // namespace rollcall::shim
