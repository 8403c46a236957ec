// Ranks 0 and 1 let rank 2 join their communicator; on the grown one rank 2 reduces one element
// less.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=count-mismatch culprits=2 waiting=0,1 op=ncclAllReduce seq=2 certainty=proven
#include <fcntl.h>

#include "nccl_fault.h"

// From rank 0 to those who join, past NCCL.
static void Hand(ncclUniqueId* id, int gives) {
  char path[256], made[300];
  snprintf(path, sizeof(path), "/dev/shm/nccl-sim-id-%.100s", getenv("TORCHELASTIC_RUN_ID"));
  snprintf(made, sizeof(made), "%s.new", path);
  if (gives) {
    const int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, id, sizeof(*id)) != sizeof(*id)) exit(8);
    close(fd);
    rename(made, path);
    return;
  }
  int fd = -1;
  while ((fd = open(path, O_RDONLY)) < 0) usleep(1000);
  if (read(fd, id, sizeof(*id)) != sizeof(*id)) exit(8);
  close(fd);
  unlink(path);
}

int main(void) {
  ncclComm_t pair = NULL, comm = NULL;
  cudaStream_t stream = NewStream();
  float* data = Floats(64, 1);
  ncclUniqueId id;
  if (Rank() < 2) {
    Check(ncclCommInitRank(&pair, 2, JobId(0), Rank()), "ncclCommInitRank");
    if (Rank() == 0) {
      Check(ncclCommGetUniqueId(pair, &id), "ncclCommGetUniqueId");
      Hand(&id, 1);
    }
    Check(ncclCommGrow(pair, 3, Rank() == 0 ? &id : NULL, -1, &comm, NULL), "ncclCommGrow");
  } else {
    Hand(&id, 0);
    Check(ncclCommGrow(NULL, 3, &id, 2, &comm, NULL), "ncclCommGrow");
  }
  for (int step = 0; step < 3; ++step) {
    size_t count = 32;
#ifdef FAULT
    if (step == 1 && Rank() == 2) count = 31;
#endif
    ncclAllReduce(data, data, count, ncclFloat32, ncclMax, comm, stream);  // @waiting @culprit
    cudaStreamSynchronize(stream);
  }
  Report("max", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
