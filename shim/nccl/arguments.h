// SPDX-License-Identifier: Apache-2.0
// The parameters of an NCCL or CUDA function, as assigned by their roles (roles.h).
#ifndef ROLLCALL_SHIM_NCCL_ARGUMENTS_H_
#define ROLLCALL_SHIM_NCCL_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>

namespace rollcall::shim::nccl {

// ncclUniqueId: shared by the members of a communicator before it exists. Passed by value.
struct UniqueId {
  char bytes[128];
};

struct Arguments {
  uint64_t comm = 0;
  uint64_t stream = 0;
  uint64_t event = 0;
  void* new_comm = nullptr;   // ncclComm_t*
  void* new_comms = nullptr;  // ncclComm_t[device_count]
  uint64_t id_hash = 0;       // hash of the unique id, or of all unique ids
  int id_count = 0;
  int device_count = 0;
  int nranks = 0;
  int rank = 0;
  uint64_t count = 0;
  int datatype = -1;
  int op = -1;
  int root_or_peer = 0;
  int color = 0;
  int key = 0;
  const int* excluded = nullptr;  // ranks of `comm`
  int excluded_count = 0;
  int flags = 0;
  const void* unique_id_at = nullptr;  // ncclCommGrow: UniqueId*, or null
  const int* state = nullptr;          // ncclCommGetAsyncError: its result
};

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_ARGUMENTS_H_
