// Datatypes that are freed while a request uses them, or while another type is made of them; new
// types, which may get the same handles, are made before the request is waited for. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include "tests/faults/data.h"

enum { kDoubles = 120, kTypes = 8 };

static void Largest(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  const double* other = in;
  double* mine = inout;
  for (int i = 0; i < 2 * *length; ++i) {
    if (other[i] > mine[i]) mine[i] = other[i];
  }
}

// Types with other layouts, in the place of freed ones.
static void MakeOtherTypes(MPI_Datatype* types) {
  for (int i = 0; i < kTypes; ++i) {
    MPI_Type_vector(2 + i, 1, 3 + i, MPI_INT, &types[i]);
    MPI_Type_commit(&types[i]);
  }
}

static void FreeOtherTypes(MPI_Datatype* types) {
  for (int i = 0; i < kTypes; ++i) MPI_Type_free(&types[i]);
}

// Every third double, by a type whose parts no longer exist either.
static MPI_Datatype EveryThird(void) {
  MPI_Datatype one, four, type;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 3 * sizeof(double), &one);
  MPI_Type_contiguous(4, one, &four);
  MPI_Type_free(&one);
  MPI_Type_contiguous(10, four, &type);
  MPI_Type_free(&four);
  MPI_Type_commit(&type);
  return type;
}

static void RequireThirds(const double* field, double first, int rank) {
  double noise[kDoubles];
  FillWithNans(noise, sizeof(noise), rank);
  for (int i = 0; i < kDoubles; ++i) {
    REQUIRE(i % 3 == 0 ? field[i] == first + i : memcmp(&field[i], &noise[i], sizeof(double)) == 0);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Datatype others[kTypes];
  double field[kDoubles];
  double received[kDoubles];
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  for (int step = 0; step < 4; ++step) {
    FillWithNans(field, sizeof(field), rank);
    FillWithNans(received, sizeof(received), rank);
    for (int i = 0; i < kDoubles; i += 3) field[i] = 1000 * rank + i;

    MPI_Datatype type = EveryThird();
    MPI_Ibcast(field, 1, type, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Type_free(&type);
    MakeOtherTypes(others);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    FreeOtherTypes(others);
    RequireThirds(field, 1000 * step, rank);

    type = EveryThird();
    MPI_Irecv(received, 1, type, rank ^ 1, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(field, 1, type, rank ^ 1, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&type);
    MakeOtherTypes(others);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    FreeOtherTypes(others);
    RequireThirds(received, 1000 * step, rank);

    // The operation, too, is freed before the wait.
    MPI_Op op = MPI_OP_NULL;
    const double mine[4] = {rank, -rank, 2 * rank, step};
    double largest[4] = {0};
    MPI_Op_create(Largest, 1, &op);
    MPI_Type_contiguous(2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Iallreduce(mine, largest, 2, type, op, MPI_COMM_WORLD, &requests[0]);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
    MakeOtherTypes(others);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    FreeOtherTypes(others);
    REQUIRE(largest[0] == 3 && largest[1] == 0 && largest[2] == 6 && largest[3] == step);
  }
  MPI_Finalize();
  return 0;
}
