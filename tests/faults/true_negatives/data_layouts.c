// Senders and receivers that lay out the same elements differently: rows against columns, packed
// against spread, one struct against its members. The signatures agree. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include "tests/faults/data.h"

enum { kSide = 4 };

static int g_rank;
static double g_matrix[kSide][kSide];
static MPI_Datatype g_column;  // one column; a second element is the next column

static double Value(int rank, int i) { return 10 * rank + i + 0.5; }

static void Clear(void) { FillWithNans(g_matrix, sizeof(g_matrix), g_rank); }

static void BroadcastColumn(void) {
  Clear();
  for (int i = 0; g_rank == 0 && i < kSide; ++i) g_matrix[i][1] = Value(0, i);
  if (g_rank == 0) {
    MPI_Bcast(&g_matrix[0][1], 1, g_column, 0, MPI_COMM_WORLD);
    return;
  }
  MPI_Bcast(g_matrix[g_rank], kSide, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; i < kSide; ++i) REQUIRE(g_matrix[g_rank][i] == Value(0, i));
  REQUIRE(AreNansOf(g_matrix[0], 0, kSide, g_rank));
}

static void GatherColumns(void) {
  Clear();
  double own[kSide];
  for (int i = 0; i < kSide; ++i) own[i] = Value(g_rank, i);
  MPI_Gather(own, kSide, MPI_DOUBLE, g_matrix, 1, g_column, 1, MPI_COMM_WORLD);
  for (int i = 0; g_rank == 1 && i < kSide * kSide; ++i) {
    REQUIRE(g_matrix[i / kSide][i % kSide] == Value(i % kSide, i / kSide));
  }
  MPI_Allgather(own, kSide, MPI_DOUBLE, g_matrix, 1, g_column, MPI_COMM_WORLD);
  for (int i = 0; i < kSide * kSide; ++i) {
    REQUIRE(g_matrix[i / kSide][i % kSide] == Value(i % kSide, i / kSide));
  }
  double row[kSide] = {0};
  MPI_Scatter(g_matrix, 1, g_column, row, kSide, MPI_DOUBLE, 2, MPI_COMM_WORLD);
  for (int i = 0; i < kSide; ++i) REQUIRE(row[i] == Value(g_rank, i));
}

// Each rank has a row of a matrix of 4 blocks, and gets a column of blocks.
static void Transpose(void) {
  double rows[kSide][kSide];
  for (int i = 0; i < kSide * kSide; ++i) rows[i / kSide][i % kSide] = Value(g_rank, i);
  Clear();
  MPI_Alltoall(rows, 1, g_column, g_matrix, kSide, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < kSide * kSide; ++i) {
    REQUIRE(g_matrix[i / kSide][i % kSide] == Value(i / kSide, i % kSide * kSide + g_rank));
  }
  MPI_Sendrecv(g_matrix, 1, g_column, g_rank ^ 1, 0, rows, kSide, MPI_DOUBLE, g_rank ^ 1, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kSide; ++i) REQUIRE(rows[0][i] == Value(i, g_rank ^ 1));
}

// One rank has an array of structs, the others the same members elsewhere in memory.
static void StructAgainstMembers(void) {
  struct Sample {
    int id;
    double value;
  } samples[6];
  struct Reversed {
    double value;
    float noise;
    int id;
  } reversed[6];
  FillWithNans(samples, sizeof(samples), g_rank);
  FillWithNans(reversed, sizeof(reversed), g_rank);
  const int lengths[2] = {1, 1};
  const MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE};
  const MPI_Aint places[2] = {offsetof(struct Sample, id), offsetof(struct Sample, value)};
  const MPI_Aint other_places[2] = {offsetof(struct Reversed, id),
                                    offsetof(struct Reversed, value)};
  MPI_Datatype type;
  MPI_Type_create_struct(2, lengths, g_rank == 3 ? places : other_places, members, &type);
  MPI_Datatype element;
  MPI_Type_create_resized(type, 0, g_rank == 3 ? sizeof(struct Sample) : sizeof(struct Reversed),
                          &element);
  MPI_Type_commit(&element);
  for (int i = 0; i < 6; ++i) samples[i] = (struct Sample){i, Value(3, i)};
  MPI_Bcast(g_rank == 3 ? (void*)samples : (void*)reversed, 6, element, 3, MPI_COMM_WORLD);
  for (int i = 0; g_rank != 3 && i < 6; ++i) {
    REQUIRE(reversed[i].id == i && reversed[i].value == Value(3, i));
  }
  MPI_Type_free(&element);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  g_rank = WorldRank();
  MPI_Datatype column;
  MPI_Type_vector(kSide, 1, kSide, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, sizeof(double), &g_column);
  MPI_Type_commit(&g_column);
  MPI_Type_free(&column);
  BroadcastColumn();
  GatherColumns();
  Transpose();
  StructAgainstMembers();
  MPI_Type_free(&g_column);
  MPI_Finalize();
  return 0;
}
