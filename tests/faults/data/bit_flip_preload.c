// Preloaded between rollcall's library and the MPI library (preload= in the header of bit_flip.c):
// flips bit 40, or bit 10 of a shorter element, of element 12345 in the result of the third
// MPI_Allreduce, and of the third MPI_Bcast, that has so many elements, on rank 1. In a result of
// exactly 30000 elements, the lowest bit (last_bit.c).
//
// It is loaded into rollcall and the launcher, too. So it is not linked with an MPI library, and
// its references to one are functions only, which are resolved when they are called.
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { kElement = 12345, kLastBitCount = 30000, kCall = 3, kRank = 1 };

static void Flip(void* buffer, int count, MPI_Datatype type, MPI_Comm comm, int* calls) {
  int rank = 0;
  int size = 0;
  if (count <= kElement || ++*calls != kCall) return;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Type_size(type, &size);
  if (rank != kRank) return;
  const int bit = count == kLastBitCount ? 0 : size == sizeof(uint64_t) ? 40 : 10;
  ((unsigned char*)buffer)[kElement * (size_t)size + (size_t)bit / 8] ^= 1u << bit % 8;
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  static int calls;
  const int result = PMPI_Allreduce(in, out, count, type, op, comm);
  Flip(out, count, type, comm, &calls);
  return result;
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static int calls;
  const int result = PMPI_Bcast(buffer, count, type, root, comm);
  Flip(buffer, count, type, comm, &calls);
  return result;
}
