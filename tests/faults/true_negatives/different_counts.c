// Counts that differ between ranks where the v- and w-forms allow it, and zero counts: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int mine[16];
  int all[64] = {0};
  for (int i = 0; i < 16; ++i) mine[i] = 10 * rank + i;
  const int counts[4] = {0, 1, 2, 3};
  const int places[4] = {0, 0, 1, 3};
  MPI_Allgatherv(mine, rank, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
  // Rank i sends (i + j) mod 4 elements to rank j, which expects as many.
  int send_counts[4], receive_counts[4], send_places[4], receive_places[4];
  for (int peer = 0, at = 0; peer < 4; ++peer) {
    send_counts[peer] = (rank + peer) % 4;
    receive_counts[peer] = (rank + peer) % 4;
    send_places[peer] = 0;
    receive_places[peer] = at;
    at += receive_counts[peer];
  }
  MPI_Alltoallv(mine, send_counts, send_places, MPI_INT, all, receive_counts, receive_places,
                MPI_INT, MPI_COMM_WORLD);
  MPI_Scatterv(all, counts, places, MPI_INT, mine, rank, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(NULL, 0, rank == 2 ? MPI_DOUBLE : MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 3, MPI_COMM_WORLD);
  MPI_Reduce_scatter(MPI_IN_PLACE, all, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("done", rank);
  MPI_Finalize();
  return 0;
}
