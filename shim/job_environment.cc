// SPDX-License-Identifier: Apache-2.0
#include "shim/job_environment.h"

#include <cstdlib>
#include <cstring>

#include "proto/environment.h"
#include "shim/platform.h"

namespace rollcall::shim {
namespace {

// Returns the value of the first variable that is set; nullptr if none is.
template <int kCount>
const char* FirstOf(const char* const (&names)[kCount]) {
  for (const char* name : names) {
    const char* value = getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

int NumberOf(const char* text, int otherwise) {
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  return end != text && value >= 0 && value < (1 << 30) ? static_cast<int>(value) : otherwise;
}

// The number in the first variable that is set. `torch` is PyTorch's variable: a worker of torchrun
// uses it alone. Other processes use it only if none of `names` is set, because users also set it
// for whole jobs.
template <int kCount>
int NumberIn(const char* const (&names)[kCount], const char* torch, int otherwise) {
  const char* text = IsTorchWorker() ? nullptr : FirstOf(names);
  return NumberOf(text != nullptr ? text : getenv(torch), otherwise);
}

}  // namespace

// Workers of torchrun also inherit the variables of the Slurm task or MPI rank that started
// torchrun; those number the nodes.
bool IsTorchWorker() {
  const int rank = NumberOf(getenv("RANK"), -1);
  return rank >= 0 && rank < NumberOf(getenv("WORLD_SIZE"), -1) && getenv("LOCAL_RANK") != nullptr;
}

uint64_t JobKey() {
  // Open MPI (PMIx), Slurm, Hydra and its relatives, torchrun.
  static constexpr const char* kNames[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID",
                                           "TORCHELASTIC_RUN_ID"};
  uint64_t key = 0x726f6c6c63616c6c;
  if (const char* job = FirstOf(kNames)) key = HashBytes(job, strlen(job), key);
  if (const char* run = getenv(env::kRunDirectory)) key = HashBytes(run, strlen(run), key);
  // Slurm numbers the launches (steps) of one allocation.
  static constexpr const char* kSlurm[] = {"SLURM_JOB_ID"};
  static constexpr const char* kStep[] = {"SLURM_STEP_ID"};
  if (const char* id = FirstOf(kSlurm)) key = HashBytes(id, strlen(id), key);
  if (const char* step = FirstOf(kStep)) key = HashBytes(step, strlen(step), key);
  return key;
}

int EarlyRank() {
  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                           "SLURM_PROCID"};
  return NumberIn(kNames, "RANK", -1);
}

int EarlySize() {
  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
  return NumberIn(kNames, "WORLD_SIZE", -1);
}

int RanksOnNode() {
  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                           "SLURM_NTASKS_PER_NODE"};
  return NumberIn(kNames, "LOCAL_WORLD_SIZE", 0);
}

}  // namespace rollcall::shim
