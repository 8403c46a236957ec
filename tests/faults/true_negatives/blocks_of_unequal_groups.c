// Groups of one and of three scatter a sum over an intercommunicator: each names blocks for its own
// members only, and has no more counts than those. Behind them is nothing that could be read.
//
// rollcall-test: ranks=4
// expect: none
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/faults/fault.h"

// `size` counts that end where readable memory ends.
static int* CountsAtTheEdge(int size, int count) {
  const long page = sysconf(_SC_PAGESIZE);
  char* memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + page, page, PROT_NONE);
  int* counts = (int*)(memory + page) - size;
  for (int i = 0; i < size; ++i) counts[i] = count;
  return counts;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int alone = rank == 0;
  const int size = alone ? 1 : WorldSize() - 1;
  const int other = alone ? WorldSize() - 1 : 1;
  MPI_Comm mine;
  MPI_Comm peers;
  MPI_Comm_split(MPI_COMM_WORLD, alone, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, alone ? 1 : 0, 9, &peers);
  // As much in all on either side.
  const int block = 2 * other;
  int send[64];
  int received[64];
  memset(received, 0, sizeof received);
  for (int i = 0; i < 64; ++i) send[i] = rank;
  MPI_Reduce_scatter(send, received, CountsAtTheEdge(size, block), MPI_INT, MPI_SUM, peers);
  MPI_Reduce_scatter_block(send, received, block, MPI_INT, MPI_SUM, peers);
  Report("received", received[0]);
  MPI_Comm_free(&peers);
  MPI_Comm_free(&mine);
  MPI_Finalize();
  return 0;
}
