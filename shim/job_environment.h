// The rank, size and job that the launcher passed in environment variables. They are known before
// MPI_Init returns, even if it never does.
#ifndef ROLLCALL_SHIM_JOB_ENVIRONMENT_H_
#define ROLLCALL_SHIM_JOB_ENVIRONMENT_H_

#include <cstdint>

namespace rollcall::shim {

// Equal on all ranks of one launch, and different between launches if the launcher distinguishes
// them. If it does not (Hydra), all launches of a run share a key, and the reader separates them by
// start time.
uint64_t JobKey();

// Whether torchrun, or a launcher that sets the same variables, started this process as a rank.
// False for torchrun itself, also where it was given RANK and WORLD_SIZE of the nodes (Kubeflow).
bool IsTorchWorker();

int EarlyRank();    // -1 if unknown
int EarlySize();    // -1 if unknown
int RanksOnNode();  // 0 if unknown

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_JOB_ENVIRONMENT_H_
