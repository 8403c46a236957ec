// Each rank runs collectives in a second thread, on a communicator of that thread's own, under
// MPI_THREAD_MULTIPLE. The worker of rank 1 skips one: a barrier pairs with a reduction at one
// number, which no other thread can correct.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=MPI_Allreduce seq=2
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include <thread>

#include "tests/faults/fault.h"

namespace {

double Background(MPI_Comm comm, int rank) {
  double sum = 0;
  const double mine = rank;
  MPI_Barrier(comm);
#ifdef FAULT
  if (rank != 1)
#else
  if (rank >= 0)
#endif
  {
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);  // @waiting
  }
  MPI_Barrier(comm);  // @culprit
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return 9;
  const int rank = WorldRank();
  MPI_Comm background;
  MPI_Comm_dup(MPI_COMM_WORLD, &background);
  double sum = 0;
  std::thread worker([&] { sum = Background(background, rank); });
  double largest = 0;
  const double mine = rank;
  MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  worker.join();
  MPI_Comm_free(&background);
  Report("sum", sum + largest);
  MPI_Finalize();
  return 0;
}
