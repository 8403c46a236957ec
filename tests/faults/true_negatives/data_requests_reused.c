// Buffers are unmapped as soon as their requests are complete or freed: a later request that gets
// the place of such a one in a table must not be taken for it. What still read them would crash.
//
// rollcall-test: ranks=2 data=full
#define _GNU_SOURCE
#include <sys/mman.h>

#include "tests/faults/data.h"

enum { kCount = 2000, kBytes = 1 << 14 };

static double* Map(void) {
  double* memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  for (int i = 0; i < kCount; ++i) memory[i] = i;
  return memory;
}

static void Dup(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(comm, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&copy);
  MPI_Ibarrier(comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Datatypes may be freed while the request runs, also those in an array.
static void ToAllWithFreedTypes(int rank) {
  double sent[4] = {rank, 1, rank, 2};
  double received[4] = {-1, -1, -1, -1};
  const int counts[2] = {1, 1};
  const int places[2] = {0, 2 * sizeof(double)};
  MPI_Datatype types[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Type_contiguous(2, MPI_DOUBLE, &types[i]);
    MPI_Type_commit(&types[i]);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ialltoallw(sent, counts, places, types, received, counts, places, types, MPI_COMM_WORLD,
                 &request);
  // The array itself may not change.
  MPI_Datatype copies[2] = {types[0], types[1]};
  for (int i = 0; i < 2; ++i) MPI_Type_free(&copies[i]);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  REQUIRE(received[0] == 0 && received[2] == 1 && received[1] == 1 + rank);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  for (int i = 0; i < 3; ++i) {
    double* in = Map();
    double* out = Map();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(out[7] == 14);
    munmap(in, kBytes);
    munmap(out, kBytes);
    Dup(MPI_COMM_WORLD);

    // On a communicator that is freed while its request runs.
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    in = Map();
    MPI_Ibcast(in, kCount, MPI_DOUBLE, 0, comm, &request);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    munmap(in, kBytes);
    Dup(MPI_COMM_WORLD);

    // The program may use a buffer as soon as it knows that the request is complete.
    in = Map();
    MPI_Ibcast(in, kCount, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    for (int complete = 0; !complete;) {
      MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
    }
    in[7] = rank;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    munmap(in, kBytes);
    ToAllWithFreedTypes(rank);
  }
  Report("rank", rank);
  MPI_Finalize();
  return 0;
}
