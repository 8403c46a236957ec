// A program that provokes errors, as tests of libraries do, and goes on: on all ranks or on one, in
// collectives, messages and creations of communicators. What was rejected took no part: the ranks
// stay in step, and communicators that are made afterwards are the same on all of them.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/fault.h"

static int failures = 0;

static void MustFail(int result) {
  if (result == MPI_SUCCESS) ++failures;
}

static void Provoke(MPI_Comm comm, int round) {
  int value = round, sum = 0;
  const int size = WorldSize();
  MustFail(MPI_Bcast(&value, 1, MPI_INT, size, comm));
  if (WorldRank() == round % size) {
    MustFail(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, comm));
    MustFail(MPI_Bcast(&value, -1, MPI_INT, 0, comm));
    MustFail(MPI_Send(&value, 1, MPI_INT, size + 3, 1, comm));
    MustFail(MPI_Send(&value, 1, MPI_INT, 0, -7, comm));
    MustFail(MPI_Send(&value, -2, MPI_INT, (round + 1) % size, 5, comm));
    MPI_Request request = MPI_REQUEST_NULL;
    MustFail(MPI_Irecv(&value, 1, MPI_DATATYPE_NULL, 0, 5, comm, &request));
    MPI_Send(&value, 1, MPI_INT, (round + 1) % size, 5, comm);
  } else if (WorldRank() == (round + 1) % size) {
    MPI_Recv(&value, 1, MPI_INT, round % size, 5, comm, MPI_STATUS_IGNORE);
  }
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < 40; ++round) Provoke(MPI_COMM_WORLD, round);
  MPI_Comm copy;
  if (WorldRank() == 1) MustFail(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &copy));
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int round = 0; round < 40; ++round) Provoke(copy, round);
  MPI_Comm_free(&copy);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("calls that should have failed", failures);
  MPI_Finalize();
  return 0;
}
