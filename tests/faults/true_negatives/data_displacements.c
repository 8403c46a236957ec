// Blocks of different lengths at displacements, in another order on each rank and with gaps of NaN
// between them, in every collective that has displacements. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include "tests/faults/data.h"

enum { kRanks = 4, kStride = 10, kDoubles = 64 };

static int g_rank;
static double g_sent[kDoubles];
static double g_received[kDoubles];

// Block `i` is at place (i + rank) % 4; it has `length` elements, and the rest is noise.
static int Place(int i) { return (i + g_rank) % kRanks * kStride + g_rank; }

static double Value(int from, int to, int i) { return 100 * from + 10 * to + i + 0.25; }

static int Length(int from, int to) { return (from + 2 * to) % 5; }

static void Clear(void) {
  FillWithNans(g_sent, sizeof(g_sent), g_rank);
  FillWithNans(g_received, sizeof(g_received), 10 + g_rank);
}

// The received block from `from` to `to` is at Place(place); the elements behind it are unchanged.
static void RequireBlock(int from, int to, int place) {
  const int start = Place(place);
  const int length = Length(from, to);
  for (int i = 0; i < length; ++i) REQUIRE(g_received[start + i] == Value(from, to, i));
  REQUIRE(AreNansOf(g_received, start + length, kStride - length, 10 + g_rank));
}

static void SetBlock(int from, int to, int start) {
  for (int i = 0; i < Length(from, to); ++i) g_sent[start + i] = Value(from, to, i);
}

static void ScatterAndGather(int root) {
  int counts[kRanks];
  int places[kRanks];
  const int length = Length(root, g_rank);
  Clear();
  for (int to = 0; to < kRanks; ++to) {
    counts[to] = Length(root, to);
    places[to] = Place(to);
    if (g_rank == root) SetBlock(root, to, places[to]);
  }
  MPI_Scatterv(g_sent, counts, places, MPI_DOUBLE, g_received + Place(0), length, MPI_DOUBLE, root,
               MPI_COMM_WORLD);
  RequireBlock(root, g_rank, 0);
  Clear();
  SetBlock(g_rank, root, Place(0));
  for (int from = 0; from < kRanks; ++from) counts[from] = Length(from, root);
  MPI_Gatherv(g_sent + Place(0), counts[g_rank], MPI_DOUBLE, g_received, counts, places, MPI_DOUBLE,
              root, MPI_COMM_WORLD);
  for (int from = 0; g_rank == root && from < kRanks; ++from) RequireBlock(from, root, from);
}

static void GatherToAll(int nonblocking) {
  int counts[kRanks];
  int places[kRanks];
  Clear();
  SetBlock(g_rank, 0, 5);
  for (int from = 0; from < kRanks; ++from) {
    counts[from] = Length(from, 0);
    places[from] = Place(from);
  }
  if (nonblocking) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgatherv(g_sent + 5, counts[g_rank], MPI_DOUBLE, g_received, counts, places, MPI_DOUBLE,
                    MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Allgatherv(g_sent + 5, counts[g_rank], MPI_DOUBLE, g_received, counts, places, MPI_DOUBLE,
                   MPI_COMM_WORLD);
  }
  for (int from = 0; from < kRanks; ++from) RequireBlock(from, 0, from);
}

static void ToAll(int nonblocking) {
  int send_counts[kRanks];
  int receive_counts[kRanks];
  int places[kRanks];
  Clear();
  for (int other = 0; other < kRanks; ++other) {
    send_counts[other] = Length(g_rank, other);
    receive_counts[other] = Length(other, g_rank);
    places[other] = Place(other);
    SetBlock(g_rank, other, places[other]);
  }
  if (nonblocking) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoallv(g_sent, send_counts, places, MPI_DOUBLE, g_received, receive_counts, places,
                   MPI_DOUBLE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Alltoallv(g_sent, send_counts, places, MPI_DOUBLE, g_received, receive_counts, places,
                  MPI_DOUBLE, MPI_COMM_WORLD);
  }
  for (int from = 0; from < kRanks; ++from) RequireBlock(from, g_rank, from);
}

// The sender's blocks for odd ranks are spread by a vector, and those for even ranks contiguous;
// the receiver gets all contiguous.
static void ToAllWithTypes(void) {
  int send_counts[kRanks];
  int receive_counts[kRanks];
  int places[kRanks];
  MPI_Datatype send_types[kRanks];
  MPI_Datatype receive_types[kRanks];
  MPI_Datatype spread;
  MPI_Type_vector(2, 1, 4, MPI_DOUBLE, &spread);
  MPI_Type_commit(&spread);
  Clear();
  for (int other = 0; other < kRanks; ++other) {
    const int start = Place(other);
    send_counts[other] = other % 2 == 0 ? Length(g_rank, other) : 1;
    receive_counts[other] = g_rank % 2 == 0 ? Length(other, g_rank) : 2;
    places[other] = start * (int)sizeof(double);
    send_types[other] = other % 2 == 0 ? MPI_DOUBLE : spread;
    receive_types[other] = MPI_DOUBLE;
    if (other % 2 == 0) SetBlock(g_rank, other, start);
    for (int i = 0; other % 2 != 0 && i < 2; ++i) g_sent[start + 4 * i] = Value(g_rank, other, i);
  }
  MPI_Alltoallw(g_sent, send_counts, places, send_types, g_received, receive_counts, places,
                receive_types, MPI_COMM_WORLD);
  for (int from = 0; from < kRanks; ++from) {
    if (g_rank % 2 == 0) {
      RequireBlock(from, g_rank, from);
    } else {
      for (int i = 0; i < 2; ++i) REQUIRE(g_received[Place(from) + i] == Value(from, g_rank, i));
    }
  }
  MPI_Type_free(&spread);
}

// Into one place, which MPI does not allow, and programs do: which block is left there is open.
static void ToOnePlace(void) {
  int counts[kRanks];
  int places[kRanks];
  int sent[kRanks];
  int received = -1;
  for (int other = 0; other < kRanks; ++other) {
    counts[other] = 1;
    places[other] = 0;
    sent[other] = 10 * g_rank + other;
  }
  int sources[kRanks];
  for (int other = 0; other < kRanks; ++other) sources[other] = other;
  MPI_Alltoallv(sent, counts, sources, MPI_INT, &received, counts, places, MPI_INT, MPI_COMM_WORLD);
  REQUIRE(received % 10 == g_rank);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  g_rank = WorldRank();
  ScatterAndGather(0);
  ScatterAndGather(3);
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
    GatherToAll(nonblocking);
    ToAll(nonblocking);
  }
  ToAllWithTypes();
  ToOnePlace();
  MPI_Finalize();
  return 0;
}
