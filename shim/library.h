// SPDX-License-Identifier: Apache-2.0
// The MPI library that a wrapper calls: its functions and its ABI. One process can have several MPI
// libraries (for example, a Python extension that loaded its own with RTLD_LOCAL). Each caller uses
// the library that it was bound to.
#ifndef ROLLCALL_SHIM_LIBRARY_H_
#define ROLLCALL_SHIM_LIBRARY_H_

#include <atomic>
#include <cstdint>

#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall::shim {

// A handle in a register: 8 bytes in Open MPI and the standard ABI, 4 significant bytes in MPICH. A
// handle is forwarded unchanged. It is masked before the shim uses it, because clang -O0 leaves
// garbage in the upper half of an int's register.
using Word = uint64_t;

// Facts per ABI, from each library's mpi.h; tests/shim/abi compares them.
struct Abi {
  ring::Flavor flavor;
  uint32_t handle_bytes;
  uint64_t handle_mask;
  uint64_t comm_null;
  uint64_t request_null;
  uint64_t datatype_null;
  uint64_t status_ignore;
  uint64_t in_place;
  int32_t any_source;
  int32_t proc_null;
  int32_t root;
  int32_t any_tag;
  int32_t undefined;
  uint32_t status_bytes;
  uint32_t status_source;  // offsets
  uint32_t status_tag;
  uint32_t status_error;
  int32_t err_in_status;
  int32_t combiner_named;
  int32_t cart;  // results of MPI_Topo_test
  int32_t graph;
  int32_t dist_graph;
  uint64_t request_empty;  // Open MPI: the request that means "complete"; 0 if unknown
  uint64_t message_null;
  uint64_t message_no_proc;
  uint64_t win_null;
  uint64_t group_null;
  uint64_t group_empty;
  uint64_t world;  // handles; 0: ask PMPI_Comm_f2c
  uint64_t self;
};

// The facts of a kind of library, without those that only the loaded library provides (Open MPI's
// handles, which are addresses). For tests.
const Abi& AbiOf(ring::Flavor flavor);

// A predefined reduction, with its object's name in Open MPI and its fixed handle in the other
// libraries.
struct ReduceName {
  ReduceOp op;
  const char* open_mpi;
  uint32_t mpich;
  uint32_t standard;
};
inline constexpr ReduceName kReduceNames[] = {
    {ReduceOp::kMax, "ompi_mpi_op_max", 0x58000001, 0x23},
    {ReduceOp::kMin, "ompi_mpi_op_min", 0x58000002, 0x22},
    {ReduceOp::kSum, "ompi_mpi_op_sum", 0x58000003, 0x21},
    {ReduceOp::kProd, "ompi_mpi_op_prod", 0x58000004, 0x24},
    {ReduceOp::kLand, "ompi_mpi_op_land", 0x58000005, 0x30},
    {ReduceOp::kBand, "ompi_mpi_op_band", 0x58000006, 0x28},
    {ReduceOp::kLor, "ompi_mpi_op_lor", 0x58000007, 0x31},
    {ReduceOp::kBor, "ompi_mpi_op_bor", 0x58000008, 0x29},
    {ReduceOp::kLxor, "ompi_mpi_op_lxor", 0x58000009, 0x32},
    {ReduceOp::kBxor, "ompi_mpi_op_bxor", 0x5800000a, 0x2a},
    {ReduceOp::kMinloc, "ompi_mpi_op_minloc", 0x5800000b, 0x38},
    {ReduceOp::kMaxloc, "ompi_mpi_op_maxloc", 0x5800000c, 0x39},
    {ReduceOp::kReplace, "ompi_mpi_op_replace", 0x5800000d, 0x3c},
    {ReduceOp::kNoOp, "ompi_mpi_op_no_op", 0x5800000e, 0x3d},
    {ReduceOp::kNull, "ompi_mpi_op_null", 0x18000000, 0x20},
};

// The library functions that the shim itself calls: local and non-blocking only. Handles are passed
// as Word; a returned handle must be masked (Library::Handle). X(result, name, parameters).
#define ROLLCALL_QUERIES(X)                                               \
  X(int, Comm_rank, (Word, int*))                                         \
  X(int, Comm_size, (Word, int*))                                         \
  X(int, Comm_remote_size, (Word, int*))                                  \
  X(int, Comm_test_inter, (Word, int*))                                   \
  X(int, Comm_group, (Word, void*))                                       \
  X(int, Comm_remote_group, (Word, void*))                                \
  X(int, Group_free, (void*))                                             \
  X(int, Group_size, (Word, int*))                                        \
  X(int, Group_translate_ranks, (Word, int, const int*, Word, int*))      \
  X(Word, Comm_f2c, (int))                                                \
  X(int, Comm_get_name, (Word, char*, int*))                              \
  X(int, Topo_test, (Word, int*))                                         \
  X(int, Query_thread, (int*))                                            \
  X(int, Get_library_version, (char*, int*))                              \
  X(int, Error_class, (int, int*))                                        \
  X(int, Type_size, (Word, int*))                                         \
  X(int, Type_get_extent, (Word, int64_t*, int64_t*))                     \
  X(int, Type_get_name, (Word, char*, int*))                              \
  X(int, Type_get_envelope, (Word, int*, int*, int*, int*))               \
  X(int, Type_get_contents, (Word, int, int, int, int*, int64_t*, void*)) \
  X(int, Type_free, (void*))                                              \
  X(int, Dist_graph_neighbors_count, (Word, int*, int*, int*))            \
  X(int, Dist_graph_neighbors, (Word, int, int*, int*, int, int*, int*))  \
  X(int, Graph_neighbors_count, (Word, int, int*))                        \
  X(int, Graph_neighbors, (Word, int, int, int*))                         \
  X(int, Cartdim_get, (Word, int*))                                       \
  X(int, Cart_shift, (Word, int, int, int*, int*))                        \
  X(int, Test_cancelled, (const void*, int*))                             \
  X(int, Group_rank, (Word, int*))                                        \
  X(int, Group_from_session_pset, (Word, const char*, void*))
struct Queries {
#define ROLLCALL_QUERY(result, name, parameters) result(*name) parameters;
  ROLLCALL_QUERIES(ROLLCALL_QUERY)
#undef ROLLCALL_QUERY
};

struct Comm;

struct Library {
  void* handle = nullptr;   // for dlsym: RTLD_NEXT, or the caller's own scope
  uint64_t core_start = 0;  // the library's own code: calls from it are not the user's
  uint64_t core_end = 0;
  Abi abi{};
  Queries query{};
  Comm* world = nullptr;                // MPI_COMM_WORLD, once registered
  uint64_t session = 0;                 // an open MPI_Session, 0 if there is none
  uint64_t reduce_ops[16] = {};         // handles by ReduceOp
  uint64_t reduce_ops_copied[16] = {};  // the handles after a COPY relocation, if they differ

  uint64_t Handle(Word word) const { return word & abi.handle_mask; }
  // The key of a handle in tables. Keys of different libraries in one process must differ, even if
  // their handles are equal.
  uint64_t KeyOf(uint64_t handle) const {
    return abi.handle_bytes == 8 ? handle : handle | uint64_t{1} << 48;
  }
  // The value of an out-handle.
  uint64_t Load(const void* place) const {
    return abi.handle_bytes == 8 ? *static_cast<const uint64_t*>(place)
                                 : *static_cast<const uint32_t*>(place);
  }
  int32_t StatusSource(const void* status) const { return StatusWord(status, abi.status_source); }
  int32_t StatusTag(const void* status) const { return StatusWord(status, abi.status_tag); }
  bool IgnoresStatus(const void* status) const {
    return reinterpret_cast<uint64_t>(status) == abi.status_ignore;
  }
  // True for a handle that many complete requests share and that never denotes pending work. In
  // MPICH, handles whose upper two bits are 01 (HANDLE_KIND_BUILTIN of mpir_objects.h) are not
  // allocated.
  bool IsPrecompleted(uint64_t request) const {
    if (abi.flavor == ring::Flavor::kMpich) return request >> 30 == 1;
    return request == abi.request_empty && request != 0;
  }
  uint64_t At(const void* array, uint64_t index) const {
    return Load(static_cast<const char*>(array) + index * abi.handle_bytes);
  }

 private:
  static int32_t StatusWord(const void* status, uint32_t offset) {
    return *reinterpret_cast<const int32_t*>(static_cast<const char*>(status) + offset);
  }
};

// The real function of one exported wrapper. Constant-initialized, one per wrapper.
struct NextFunction {
  const char* name;
  std::atomic<void*> function{nullptr};
  std::atomic<Library*> library{nullptr};
  NextFunction* known_before = nullptr;  // library.cc's list
  std::atomic<bool> listed{false};

  // The function that the caller would have reached without the shim; nullptr if there is none.
  // After the first call in a process with one MPI library: two loads.
  struct Found {
    void* function;
    Library* library;
  };
  Found Get(const void* caller) {
    void* known_function = function.load(std::memory_order_acquire);
    if (__builtin_expect(known_function != nullptr, 1)) {
      return {known_function, library.load(std::memory_order_relaxed)};
    }
    return Find(caller);
  }

  // Like Get, but always looks the function up. Initializations use Find, because a program first
  // calls a second library in the process by an initialization. Get's stored result holds only as
  // long as there is one library.
  Found Find(const void* caller);
};

// True if the code at `address` belongs to an MPI implementation (its core or its plugins). False
// for Fortran and other language bindings. Lock-free with glibc 2.35; otherwise takes the loader's
// lock.
bool IsInsideMpi(const void* address);
// True if the code at `address` belongs to the core (libmpi), not to the libraries that the core
// uses: launchers use those as well.
bool IsInMpiItself(const void* address);

// The return value of a wrapper that has no real function. It is MPI_ERR_OTHER in MPICH, and an
// error in every library.
inline constexpr int kNoNextFunction = 15;

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_LIBRARY_H_
