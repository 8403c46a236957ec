// Data whose bits say nothing: MPI_BYTE that looks like NaN, integers whose bits are a NaN's,
// MPI_PACKED, and operations of the program that leave other bytes in unused members on each rank,
// or that are not the same function of all inputs. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include "tests/faults/data.h"

enum { kWords = 128 };

struct Best {
  double value;
  int owner;
  int unused;  // not the same on all ranks
};

static void KeepBest(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  const struct Best* other = in;
  struct Best* mine = inout;
  for (int i = 0; i < *length; ++i) {
    if (other[i].value > mine[i].value) {
      mine[i].value = other[i].value;
      mine[i].owner = other[i].owner;
    }
    mine[i].unused = WorldRank() + 1000;
  }
}

static void Bytes(int rank) {
  uint64_t words[kWords];
  uint64_t result[kWords];
  FillWithNans(words, sizeof(words), rank);
  MPI_Bcast(words, sizeof(words), MPI_BYTE, 3, MPI_COMM_WORLD);
  REQUIRE(AreNansOf((const double*)words, 0, kWords, 3));
  FillWithNans(words, sizeof(words), rank);
  MPI_Allreduce(words, result, sizeof(words), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  MPI_Allreduce(words, words + kWords / 2, kWords / 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  REQUIRE(AreNansOf((const double*)words + kWords / 2, 0, kWords / 2, 3));
  FillWithNans(words, sizeof(words), rank);
  MPI_Allreduce(MPI_IN_PLACE, words, 2 * kWords, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  REQUIRE(AreNansOf((const double*)words, 0, kWords, 0));
}

static void Packed(int rank) {
  double values[8];
  char packed[256];
  int size = 0;
  int place = 0;
  FillWithNans(packed, sizeof(packed), rank);
  for (int i = 0; i < 8; ++i) values[i] = rank == 1 ? i : NAN;
  MPI_Pack_size(8, MPI_DOUBLE, MPI_COMM_WORLD, &size);
  REQUIRE(size <= (int)sizeof(packed));
  if (rank == 1) {
    MPI_Pack(values, 8, MPI_DOUBLE, packed, sizeof(packed), &place, MPI_COMM_WORLD);
  }
  MPI_Bcast(packed, size, MPI_PACKED, 1, MPI_COMM_WORLD);
  place = 0;
  MPI_Unpack(packed, size, &place, values, 8, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < 8; ++i) REQUIRE(values[i] == i);
}

static void OwnOperation(int rank) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op_create(KeepBest, 1, &op);
  MPI_Type_contiguous(sizeof(struct Best), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  struct Best mine[64];
  struct Best best[64];
  for (int form = 0; form < 3; ++form) {
    for (int i = 0; i < 64; ++i) mine[i] = (struct Best){i % 4 == rank ? 9 : rank, rank, -rank};
    if (form == 0) MPI_Allreduce(mine, best, 64, type, op, MPI_COMM_WORLD);
    if (form == 1) {
      memcpy(best, mine, sizeof(best));
      MPI_Allreduce(MPI_IN_PLACE, best, 64, type, op, MPI_COMM_WORLD);
    }
    if (form == 2) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Iallreduce(mine, best, 64, type, op, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 64; ++i) REQUIRE(best[i].value == 9 && best[i].owner == i % 4);
  }
  MPI_Type_free(&type);
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  Bytes(rank);
  Packed(rank);
  OwnOperation(rank);
  MPI_Finalize();
  return 0;
}
