// For programs whose communicators do not block (config.blocking = 0).
#ifndef ROLLCALL_TESTS_FAULTS_NCCL_NCCL_NONBLOCKING_H_
#define ROLLCALL_TESTS_FAULTS_NCCL_NCCL_NONBLOCKING_H_

#include "nccl_fault.h"

// Polls until nothing is in progress on the communicator; `result` is the result of a call on it.
static inline void Finish(ncclComm_t comm, ncclResult_t result, const char* what) {
  if (result != ncclInProgress) Check(result, what);
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    Check(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
    if (state == ncclInProgress) usleep(200);
  }
  Check(state, what);
}

static inline ncclResult_t BeginComm(ncclComm_t* comm, int n) {
#ifdef ROLLCALL_REAL_NCCL
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
#else
  ncclSimConfig config = {sizeof(config), kNcclConfigMagic, 22809, 0};
#endif
  return ncclCommInitRankConfig(comm, Size(), JobId(n), Rank(), &config);
}

#endif  // ROLLCALL_TESTS_FAULTS_NCCL_NCCL_NONBLOCKING_H_
