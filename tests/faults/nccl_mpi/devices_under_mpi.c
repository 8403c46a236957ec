// A true negative: two ranks of MPI that drive two devices each, which are four ranks of NCCL; the
// reductions of one device run behind those of the other.
//
// rollcall-test: ranks=2
// expect: none
#include <string.h>

#include "tests/faults/fault.h"
#include "tests/nccl_sim/nccl_api.h"

enum { kDevices = 2 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ncclUniqueId id;
  memset(&id, 0, sizeof(id));
  if (WorldRank() == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comms[kDevices];
  cudaStream_t streams[kDevices];
  float values[kDevices] = {1, 2};
  ncclGroupStart();
  for (int i = 0; i < kDevices; ++i) {
    cudaSetDevice(i);
    cudaStreamCreate(&streams[i]);
    ncclCommInitRank(&comms[i], kDevices * WorldSize(), id, kDevices * WorldRank() + i);
  }
  ncclGroupEnd();
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < kDevices; ++i) {
      ncclAllReduce(&values[i], &values[i], 1, ncclFloat32, ncclMax, comms[i], streams[i]);
    }
    if (step == 2 && WorldRank() == 1) usleep(500000);
    for (int i = 0; i < kDevices; ++i) cudaStreamSynchronize(streams[i]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Report("max", values[0]);
  for (int i = 0; i < kDevices; ++i) ncclCommDestroy(comms[i]);
  MPI_Finalize();
  return 0;
}
