// MPI for control, NCCL for data: in one step rank 1 calls the barrier before the reduction, the
// others after it. Each side waits for the other, across the two libraries.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=order-inversion culprits=1 waiting=0,2 op=ncclAllReduce seq=3 certainty=likely
// expect+: lines=none
#include <string.h>

#include "tests/faults/fault.h"
#include "tests/nccl_sim/nccl_api.h"

static void Reduce(float* value, ncclComm_t comm, cudaStream_t stream) {
  ncclAllReduce(value, value, 1, ncclFloat32, ncclMax, comm, stream);  // @waiting
  cudaStreamSynchronize(stream);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  ncclUniqueId id;
  memset(&id, 0, sizeof(id));
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm = NULL;
  cudaStream_t stream = NULL;
  ncclCommInitRank(&comm, WorldSize(), id, rank);
  cudaStreamCreate(&stream);
  float value = 1;
  for (int step = 0; step < 4; ++step) {
#ifdef FAULT
    const int first = step == 2 && rank == 1;
#else
    const int first = 0;
#endif
    if (first) MPI_Barrier(MPI_COMM_WORLD);  // @culprit
    Reduce(&value, comm, stream);
    if (!first) MPI_Barrier(MPI_COMM_WORLD);
  }
  Report("value", value);
  ncclCommDestroy(comm);
  MPI_Finalize();
  return 0;
}
