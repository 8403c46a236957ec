// An error handler that throws out of an MPI call, on one rank only, and a collective afterwards by
// all: the failed call never took part in anything. Correct, if unusual.
//
// rollcall-test: ranks=2
// expect: none
#include <stdexcept>

#include "tests/faults/fault.h"

namespace {

void Throw(MPI_Comm*, int*, ...) { throw std::runtime_error("refused"); }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(Throw, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int caught = 0;
  if (WorldRank() == 0) {
    try {
      MPI_Send(&caught, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    } catch (const std::exception&) {
      caught = 1;
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  int total = 0;
  MPI_Allreduce(&caught, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("caught", total);
  MPI_Finalize();
  return 0;
}
