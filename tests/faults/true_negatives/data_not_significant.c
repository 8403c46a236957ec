// Buffers that must not be read: those of the root on other ranks, those of zero elements, and
// those of the ranks that pass MPI_PROC_NULL as the root of an intercommunicator's collective or as
// the partner of a message. They are NULL or point to memory without access. The two groups of an
// intercommunicator get different results. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include <sys/mman.h>

#include "tests/faults/data.h"

enum { kBlock = 4, kAll = 16 };

// Every access ends the process.
static void* g_nowhere;

static void OnlyAtTheRoot(int rank) {
  const int root = 2;
  double own[kBlock] = {rank, rank + 1, rank + 2, rank + 3};
  double sum[kBlock] = {0};
  double room[kAll] = {0};
  const int counts[4] = {kBlock, kBlock, kBlock, kBlock};
  const int places[4] = {0, kBlock, 2 * kBlock, 3 * kBlock};
  const MPI_Comm comm = MPI_COMM_WORLD;
  double* all = rank == root ? room : rank == 0 ? NULL : g_nowhere;
  const MPI_Datatype type = rank == root ? MPI_DOUBLE : MPI_DATATYPE_NULL;
  MPI_Gather(own, kBlock, MPI_DOUBLE, all, kBlock, type, root, comm);
  for (int i = 0; rank == root && i < kAll; ++i) REQUIRE(room[i] == i / kBlock + i % kBlock);
  MPI_Scatter(all, kBlock, type, own, kBlock, MPI_DOUBLE, root, comm);
  MPI_Gatherv(own, kBlock, MPI_DOUBLE, all, rank == root ? counts : NULL,
              rank == root ? places : NULL, type, root, comm);
  MPI_Scatterv(all, rank == root ? counts : NULL, rank == root ? places : NULL, type, own, kBlock,
               MPI_DOUBLE, root, comm);
  for (int i = 0; i < kBlock; ++i) REQUIRE(own[i] == rank + i);
  MPI_Reduce(own, rank == root ? sum : g_nowhere, kBlock, MPI_DOUBLE, MPI_SUM, root, comm);
  for (int i = 0; rank == root && i < kBlock; ++i) REQUIRE(sum[i] == 6 + 4 * i);
}

static void ZeroElements(int rank) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int none[4] = {0, 0, 0, 0};
  const int places[4] = {1 << 20, 0, 7, -3};
  void* nothing = rank % 2 == 0 ? NULL : g_nowhere;
  void* room = rank % 2 == 0 ? g_nowhere : NULL;  // MPICH refuses the same address
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_DOUBLE, &empty);
  MPI_Type_commit(&empty);
  MPI_Bcast(nothing, 0, MPI_DOUBLE, 0, comm);
  MPI_Bcast(nothing, 5, empty, 0, comm);
  MPI_Allgatherv(nothing, 0, MPI_DOUBLE, room, none, places, MPI_DOUBLE, comm);
  MPI_Alltoallv(nothing, none, places, MPI_DOUBLE, room, none, places, MPI_DOUBLE, comm);
  MPI_Iallreduce(nothing, NULL, 0, MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  // Only rank 3 has elements.
  const int counts[4] = {0, 0, 0, 2};
  const int start[4] = {0};
  double own[2] = {7, NAN};
  double all[2] = {0, 0};
  MPI_Allgatherv(rank == 3 ? own : nothing, counts[rank], MPI_DOUBLE, all, counts, start,
                 MPI_DOUBLE, comm);
  REQUIRE(all[0] == 7 && isnan(all[1]));
  MPI_Sendrecv(nothing, 0, MPI_DOUBLE, rank ^ 1, 0, room, 0, MPI_DOUBLE, rank ^ 1, 0, comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(g_nowhere, 9, MPI_DOUBLE, MPI_PROC_NULL, 0, g_nowhere, 9, MPI_DOUBLE, MPI_PROC_NULL,
               0, comm, MPI_STATUS_IGNORE);
  MPI_Type_free(&empty);
}

static void BetweenGroups(int rank) {
  const int half = rank / 2;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm peers = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, half, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, half == 0 ? 2 : 0, 4, &peers);
  // Rank 1 is the root; rank 0, its neighbour, takes no part.
  const int root = rank == 1 ? MPI_ROOT : rank == 0 ? MPI_PROC_NULL : 1;
  double own[kBlock] = {rank, rank, rank, rank};
  double room[2 * kBlock] = {0};
  void* buffer = rank == 0 ? g_nowhere : own;
  MPI_Bcast(buffer, kBlock, MPI_DOUBLE, root, peers);
  REQUIRE(own[0] == (rank == 0 ? 0 : 1));
  own[0] = rank;
  MPI_Reduce(half == 0 ? g_nowhere : own, rank == 1 ? room : g_nowhere, 1, MPI_DOUBLE, MPI_SUM,
             root, peers);
  REQUIRE(room[0] == (rank == 1 ? 5 : 0));
  MPI_Gather(half == 0 ? g_nowhere : own, half == 0 ? 0 : kBlock, MPI_DOUBLE,
             rank == 1 ? room : g_nowhere, kBlock, MPI_DOUBLE, root, peers);
  REQUIRE(rank != 1 || (room[0] == 2 && room[kBlock] == 3));
  MPI_Scatter(rank == 1 ? room : g_nowhere, kBlock, MPI_DOUBLE, half == 0 ? g_nowhere : own,
              half == 0 ? 0 : kBlock, MPI_DOUBLE, root, peers);
  REQUIRE(own[0] == rank);
  // What the other group has: 0 + 1 or 2 + 3.
  double other[kBlock] = {0};
  MPI_Allreduce(own, other, 1, MPI_DOUBLE, MPI_SUM, peers);
  REQUIRE(other[0] == (half == 0 ? 5 : 1));
  MPI_Allgather(own, kBlock, MPI_DOUBLE, room, kBlock, MPI_DOUBLE, peers);
  REQUIRE(room[0] == (half == 0 ? 2 : 0) && room[kBlock] == (half == 0 ? 3 : 1));
  MPI_Comm_free(&peers);
  MPI_Comm_free(&mine);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  g_nowhere = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (g_nowhere == MAP_FAILED) return 9;
  OnlyAtTheRoot(rank);
  ZeroElements(rank);
  BetweenGroups(rank);
  MPI_Finalize();
  return 0;
}
