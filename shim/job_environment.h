// What launchers tell their ranks by environment variables: who and how many, before MPI_Init
// returns (or never does).
#ifndef ROLLCALL_SHIM_JOB_ENVIRONMENT_H_
#define ROLLCALL_SHIM_JOB_ENVIRONMENT_H_

#include <cstdint>

namespace rollcall::shim {

// Equal on all ranks of one launch, different between launches as far as the launcher tells them
// apart. Where it does not (Hydra), all launches of a run share a key, and the reader parts them by
// start time.
uint64_t JobKey();

int EarlyRank();    // -1 if not told
int EarlySize();    // -1 if not told
int RanksOnNode();  // 0 if not told

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_JOB_ENVIRONMENT_H_
