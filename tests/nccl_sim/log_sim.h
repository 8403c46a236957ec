// SPDX-License-Identifier: Apache-2.0
// The lines that NCCL prints with NCCL_DEBUG=INFO, as its init.cc and enqueue.cc of 2.22 write
// them.
#ifndef ROLLCALL_TESTS_NCCL_SIM_LOG_SIM_H_
#define ROLLCALL_TESTS_NCCL_SIM_LOG_SIM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/nccl_sim/nccl_api.h"

namespace nccl_sim {

// `name` is the same on all ranks of the communicator.
void LogInit(const void* comm, int rank, int ranks, int device, const std::string& name);

// A collective or a message; with NCCL_DEBUG_SUBSYS=INIT,COLL only.
struct LoggedCall {
  const char* function;
  uint64_t number;  // of the call on the communicator, from 0
  const void* send;
  const void* recv;
  size_t count;
  int type;
  int op;
  int root;
};
void LogCall(const LoggedCall& call, const void* comm, int ranks, int device, cudaStream_t stream);

}  // namespace nccl_sim

#endif  // ROLLCALL_TESTS_NCCL_SIM_LOG_SIM_H_
