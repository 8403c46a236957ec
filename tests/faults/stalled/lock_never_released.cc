// Rank 2 waits for a mutex that it holds itself, as after an error path without unlock.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=rank-stalled culprits=2 waiting=0,1 op=MPI_Barrier seq=2 certainty=likely
// expect+: analyze-certainty=likely,suspected
#include <pthread.h>

#include "tests/faults/fault.h"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int entries = 0;

[[gnu::noinline]] void Append() {
  pthread_mutex_lock(&mutex);  // @culprit
  ++entries;
#ifdef FAULT
  if (WorldRank() == 2) return;
#endif
  pthread_mutex_unlock(&mutex);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Append();
  Append();
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  Report("entries", entries);
  MPI_Finalize();
  return 0;
}
