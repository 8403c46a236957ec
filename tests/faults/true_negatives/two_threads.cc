// Two threads per rank, each with a communicator of its own, run at their own pace under
// MPI_THREAD_MULTIPLE: correct.
//
// rollcall-test: ranks=2
// expect: none
#include <thread>

#include "tests/faults/fault.h"

namespace {

double Repeat(MPI_Comm comm, int rounds) {
  double total = 0;
  for (int i = 0; i < rounds; ++i) {
    const double mine = i;
    double sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    total += sum;
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return 9;
  MPI_Comm comms[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  double totals[2] = {0, 0};
  std::thread worker([&] { totals[0] = Repeat(comms[0], 40); });
  totals[1] = Repeat(comms[1], 20);
  worker.join();
  Report("total", totals[0] + totals[1]);
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
  MPI_Finalize();
  return 0;
}
