// SPDX-License-Identifier: Apache-2.0
// The rank, size and job that the launcher passed in environment variables. They are known before
// MPI_Init returns, even if it never does.
#ifndef ROLLCALL_SHIM_JOB_ENVIRONMENT_H_
#define ROLLCALL_SHIM_JOB_ENVIRONMENT_H_

#include <cstdint>

namespace rollcall::shim {

// A key that is equal on all ranks of one launch. Keys of different launches differ if the launcher
// distinguishes its launches. If it does not (Hydra), all launches of a run share a key, and the
// reader separates them by start time.
uint64_t JobKey();

// True if torchrun, or a launcher that sets the same variables, started this process as a rank.
// False for torchrun itself, even if RANK and WORLD_SIZE of the nodes are set (Kubeflow).
bool IsTorchWorker();

int EarlyRank();    // -1 if unknown
int EarlySize();    // -1 if unknown
int RanksOnNode();  // 0 if unknown

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_JOB_ENVIRONMENT_H_
