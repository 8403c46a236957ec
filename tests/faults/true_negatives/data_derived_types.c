// Broadcasts of derived datatypes of every kind. What lies between their elements differs between
// ranks, and is NaN. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include "tests/faults/data.h"

enum { kDoubles = 200, kOrigin = 100 };

static int g_rank;

// Broadcasts `count` elements of the type at `origin` doubles into the buffer, and compares all of
// the buffer with what packing and unpacking gives.
static void Broadcast(const char* what, MPI_Datatype* type, int count, int origin) {
  double sent[kDoubles];
  double expected[kDoubles];
  double received[kDoubles];
  char packed[kDoubles * sizeof(double)];
  int place = 0;
  MPI_Type_commit(type);
  FillWithNans(sent, sizeof(sent), 0);
  FillWithNans(expected, sizeof(expected), g_rank);
  FillWithNans(received, sizeof(received), g_rank);
  MPI_Pack(sent + origin, count, *type, packed, sizeof(packed), &place, MPI_COMM_SELF);
  const int size = place;
  place = 0;
  MPI_Unpack(packed, size, &place, expected + origin, count, *type, MPI_COMM_SELF);
  MPI_Bcast(received + origin, count, *type, 0, MPI_COMM_WORLD);
  if (memcmp(expected, received, sizeof(expected)) != 0) {
    fprintf(stderr, "rank %d: %s is wrong\n", g_rank, what);
    MPI_Abort(MPI_COMM_WORLD, 9);
  }
  MPI_Type_free(type);
}

static void Vectors(void) {
  MPI_Datatype type, inner;
  MPI_Type_vector(5, 2, 7, MPI_DOUBLE, &type);
  Broadcast("vector", &type, 3, 0);
  MPI_Type_vector(5, 2, -7, MPI_DOUBLE, &type);
  Broadcast("vector with negative stride", &type, 1, kOrigin);
  MPI_Type_create_hvector(4, 1, 3 * sizeof(double), MPI_DOUBLE, &type);
  Broadcast("hvector", &type, 2, 0);
  MPI_Type_vector(3, 1, 4, MPI_DOUBLE, &inner);
  MPI_Type_dup(inner, &type);
  Broadcast("dup", &type, 4, 1);
  MPI_Type_contiguous(3, inner, &type);
  MPI_Type_free(&inner);
  Broadcast("contiguous of vector", &type, 2, 2);
}

static void Indexed(void) {
  MPI_Datatype type;
  const int lengths[4] = {3, 0, 1, 2};
  const int places[4] = {20, 3, 0, 9};
  const MPI_Aint bytes[4] = {20 * sizeof(double), -1, -8 * (MPI_Aint)sizeof(double),
                             9 * sizeof(double)};
  MPI_Type_indexed(4, lengths, places, MPI_DOUBLE, &type);
  Broadcast("indexed", &type, 2, 0);
  MPI_Type_create_hindexed(4, lengths, bytes, MPI_DOUBLE, &type);
  Broadcast("hindexed", &type, 1, kOrigin);
  MPI_Type_create_indexed_block(4, 2, places, MPI_DOUBLE, &type);
  Broadcast("indexed block", &type, 3, 0);
}

static void Structs(void) {
  struct Particle {
    char kind;
    double position[2];
    int cell;
    float charge;
    short flags;
  };
  MPI_Datatype type, resized;
  const int lengths[4] = {1, 2, 1, 1};
  const MPI_Aint places[4] = {offsetof(struct Particle, kind), offsetof(struct Particle, position),
                              offsetof(struct Particle, cell), offsetof(struct Particle, flags)};
  const MPI_Datatype members[4] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT};
  MPI_Type_create_struct(4, lengths, places, members, &type);
  MPI_Type_create_resized(type, 0, sizeof(struct Particle), &resized);
  Broadcast("struct with padding", &type, 1, 3);
  Broadcast("structs with padding", &resized, 20, 0);
  MPI_Type_create_resized(MPI_DOUBLE, 0, 5 * sizeof(double), &resized);
  Broadcast("resized", &resized, 12, 0);
  MPI_Type_create_resized(MPI_DOUBLE, -(MPI_Aint)sizeof(double), 2 * sizeof(double), &resized);
  Broadcast("resized with a lower bound", &resized, 12, 3);
  MPI_Type_contiguous(1, MPI_DOUBLE_INT, &type);
  Broadcast("MPI_DOUBLE_INT", &type, 9, 0);
}

static void Subarray(int order) {
  const int sizes[3] = {4, 5, 6};
  const int part[3] = {2, 3, 4};
  const int starts[3] = {1, 1, 2};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, part, starts, order, MPI_DOUBLE, &type);
  Broadcast("subarray", &type, 1, 0);
}

// Two variables and a part of an array, by their addresses.
static void AbsoluteAddresses(void) {
  double first = 1 + g_rank;
  double field[9];
  int number = 5 + g_rank;
  FillWithNans(field, sizeof(field), g_rank);
  for (int i = 2; i < 6; ++i) field[i] = 10 * g_rank + i;
  MPI_Aint places[3];
  MPI_Get_address(&first, &places[0]);
  MPI_Get_address(&field[2], &places[1]);
  MPI_Get_address(&number, &places[2]);
  const int lengths[3] = {1, 4, 1};
  const MPI_Datatype members[3] = {MPI_DOUBLE, MPI_DOUBLE, MPI_INT};
  MPI_Datatype type;
  MPI_Type_create_struct(3, lengths, places, members, &type);
  MPI_Type_commit(&type);
  MPI_Bcast(MPI_BOTTOM, 1, type, 2, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  REQUIRE(first == 3 && number == 7);
  for (int i = 2; i < 6; ++i) REQUIRE(field[i] == 20 + i);
  REQUIRE(AreNansOf(field, 0, 2, g_rank) && AreNansOf(field, 6, 3, g_rank));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  g_rank = WorldRank();
  Vectors();
  Indexed();
  Structs();
  Subarray(MPI_ORDER_C);
  Subarray(MPI_ORDER_FORTRAN);
  AbsoluteAddresses();
  MPI_Finalize();
  return 0;
}
