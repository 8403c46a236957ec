// SPDX-License-Identifier: Apache-2.0
// Loads NCCL by itself and asks dlsym for each function, as JAX and XGBoost do: argv[1] is the
// library, argv[2] its CUDA; "deep" as argv[3] loads it with RTLD_DEEPBIND. One reduction among all
// ranks.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "tests/faults/nccl/nccl_fault.h"

static void* Ask(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found != NULL) return found;
  fprintf(stderr, "%s\n", dlerror());
  exit(8);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int deep = argc > 3 && strcmp(argv[3], "deep") == 0 ? RTLD_DEEPBIND : 0;
  void* cuda = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  void* nccl = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | deep);
  if (cuda == NULL || nccl == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 7;
  }
  // What it has not must not be found through us, and dlerror() must say so.
  if (dlsym(nccl, "ncclCommWindowRegister") != NULL || dlerror() == NULL) return 6;
  if (dlsym(RTLD_DEFAULT, "ncclCommWindowRegister") != NULL) return 5;

  ncclResult_t (*init)(ncclComm_t*, int, ncclUniqueId, int) = Ask(nccl, "ncclCommInitRank");
  ncclResult_t (*reduce)(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                         cudaStream_t) = Ask(nccl, "ncclAllReduce");
  ncclResult_t (*destroy)(ncclComm_t) = Ask(nccl, "ncclCommDestroy");
  cudaError_t (*create)(cudaStream_t*) = Ask(cuda, "cudaStreamCreate");
  cudaError_t (*wait)(cudaStream_t) = Ask(cuda, "cudaStreamSynchronize");
  ncclComm_t comm = NULL;
  cudaStream_t stream = NULL;
  float value = 1;
  Check(init(&comm, Size(), JobId(0), Rank()), "ncclCommInitRank");
  Check(create(&stream), "cudaStreamCreate");
  Check(reduce(&value, &value, 1, ncclFloat32, ncclSum, comm, stream), "ncclAllReduce");
  Check(wait(stream), "cudaStreamSynchronize");
  Check(destroy(comm), "ncclCommDestroy");
  Report("sum", value);
  return 0;
}
