// MPI_IN_PLACE in every collective that has it, blocking and nonblocking, with nonsense in the
// arguments that it makes insignificant. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include "tests/faults/data.h"

enum { kRanks = 4, kBlock = 3, kAll = kRanks * kBlock };

static const int kCounts[kRanks] = {kBlock, kBlock, kBlock, kBlock};
static const int kPlaces[kRanks] = {0, kBlock, 2 * kBlock, 3 * kBlock};
static int g_rank;
static double g_data[kAll];
static MPI_Request g_request;

// The value of element `i` of the block that `from` has for `to`.
static double Value(int from, int to, int i) { return 100 * from + 10 * to + i + 0.5; }

// The own block is set, the others are not.
static void SetOwnBlock(void) {
  FillWithNans(g_data, sizeof(g_data), g_rank);
  for (int i = 0; i < kBlock; ++i) g_data[g_rank * kBlock + i] = Value(g_rank, 0, i);
}

static void SetBlocks(void) {
  for (int i = 0; i < kAll; ++i) g_data[i] = Value(g_rank, i / kBlock, i % kBlock);
}

static void RequireGathered(void) {
  for (int i = 0; i < kAll; ++i) REQUIRE(g_data[i] == Value(i / kBlock, 0, i % kBlock));
}

static void RequireExchanged(void) {
  for (int i = 0; i < kAll; ++i) REQUIRE(g_data[i] == Value(i / kBlock, g_rank, i % kBlock));
}

// The sum of element `i` of the blocks that `ranks` ranks have for `to`.
static double Sum(int ranks, int to, int i) {
  double sum = 0;
  for (int from = 0; from < ranks; ++from) sum += Value(from, to, i);
  return sum;
}

static void Wait(void) { MPI_Wait(&g_request, MPI_STATUS_IGNORE); }

static void GatherAndScatter(MPI_Comm comm) {
  for (int form = 0; form < 4; ++form) {
    const int root = form;
    SetOwnBlock();
    double* block = g_data + g_rank * kBlock;
    const int is_root = g_rank == root;
    const void* send = is_root ? MPI_IN_PLACE : block;
    const int count = is_root ? -7 : kBlock;
    const MPI_Datatype type = is_root ? MPI_DATATYPE_NULL : MPI_DOUBLE;
    double* all = is_root ? g_data : NULL;
    if (form == 0) MPI_Gather(send, count, type, all, kBlock, MPI_DOUBLE, root, comm);
    if (form == 1) MPI_Gatherv(send, count, type, all, kCounts, kPlaces, MPI_DOUBLE, root, comm);
    if (form == 2) {
      MPI_Igather(send, count, type, all, kBlock, MPI_DOUBLE, root, comm, &g_request);
      Wait();
    }
    if (form == 3) {
      MPI_Igatherv(send, count, type, all, kCounts, kPlaces, MPI_DOUBLE, root, comm, &g_request);
      Wait();
    }
    if (is_root) RequireGathered();
    if (is_root) {
      SetBlocks();
    } else {
      FillWithNans(g_data, sizeof(g_data), g_rank);
    }
    void* receive = is_root ? MPI_IN_PLACE : (void*)block;
    if (form == 0) MPI_Scatter(all, kBlock, MPI_DOUBLE, receive, count, type, root, comm);
    if (form == 1) {
      MPI_Scatterv(all, kCounts, kPlaces, MPI_DOUBLE, receive, count, type, root, comm);
    }
    if (form == 2) {
      MPI_Iscatter(all, kBlock, MPI_DOUBLE, receive, count, type, root, comm, &g_request);
      Wait();
    }
    if (form == 3) {
      MPI_Iscatterv(all, kCounts, kPlaces, MPI_DOUBLE, receive, count, type, root, comm,
                    &g_request);
      Wait();
    }
    for (int i = 0; i < kBlock; ++i) REQUIRE(block[i] == Value(root, g_rank, i));
  }
}

static void GatherToAll(MPI_Comm comm) {
  SetOwnBlock();
  MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, g_data, kBlock, MPI_DOUBLE, comm);
  RequireGathered();
  SetOwnBlock();
  MPI_Allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, g_data, kCounts, kPlaces, MPI_DOUBLE, comm);
  RequireGathered();
  SetOwnBlock();
  MPI_Iallgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, g_data, kBlock, MPI_DOUBLE, comm, &g_request);
  Wait();
  RequireGathered();
  SetOwnBlock();
  MPI_Iallgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, g_data, kCounts, kPlaces, MPI_DOUBLE, comm,
                  &g_request);
  Wait();
  RequireGathered();
}

static void Exchange(MPI_Comm comm) {
  int bytes[kRanks];
  MPI_Datatype types[kRanks];
  for (int i = 0; i < kRanks; ++i) {
    bytes[i] = kPlaces[i] * (int)sizeof(double);
    types[i] = MPI_DOUBLE;
  }
  SetBlocks();
  MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, g_data, kBlock, MPI_DOUBLE, comm);
  RequireExchanged();
  SetBlocks();
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, g_data, kCounts, kPlaces, MPI_DOUBLE,
                comm);
  RequireExchanged();
  SetBlocks();
  MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, g_data, kCounts, bytes, types, comm);
  RequireExchanged();
  SetBlocks();
  MPI_Ialltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, g_data, kBlock, MPI_DOUBLE, comm, &g_request);
  Wait();
  RequireExchanged();
  SetBlocks();
  MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, g_data, kCounts, kPlaces, MPI_DOUBLE,
                 comm, &g_request);
  Wait();
  RequireExchanged();
  SetBlocks();
  MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, g_data, kCounts, bytes, types, comm, &g_request);
  Wait();
  RequireExchanged();
}

static void ReduceToRoot(MPI_Comm comm, int nonblocking) {
  const int root = 1 + nonblocking;
  const int is_root = g_rank == root;
  const void* send = is_root ? MPI_IN_PLACE : g_data;
  void* receive = is_root ? g_data : NULL;
  SetBlocks();
  if (nonblocking) {
    MPI_Ireduce(send, receive, kAll, MPI_DOUBLE, MPI_SUM, root, comm, &g_request);
    Wait();
  } else {
    MPI_Reduce(send, receive, kAll, MPI_DOUBLE, MPI_SUM, root, comm);
  }
  for (int i = 0; is_root && i < kAll; ++i) {
    REQUIRE(g_data[i] == Sum(kRanks, i / kBlock, i % kBlock));
  }
}

// The forms that every rank calls alike.
enum { kAllreduce, kScan, kExscan, kReduceScatter, kReduceScatterBlock, kReductions };

static void Start(int reduction, int nonblocking, MPI_Comm comm) {
  double* d = g_data;
  MPI_Request* r = &g_request;
  if (!nonblocking) {
    if (reduction == kAllreduce) MPI_Allreduce(MPI_IN_PLACE, d, kAll, MPI_DOUBLE, MPI_SUM, comm);
    if (reduction == kScan) MPI_Scan(MPI_IN_PLACE, d, kAll, MPI_DOUBLE, MPI_SUM, comm);
    if (reduction == kExscan) MPI_Exscan(MPI_IN_PLACE, d, kAll, MPI_DOUBLE, MPI_SUM, comm);
    if (reduction == kReduceScatter) {
      MPI_Reduce_scatter(MPI_IN_PLACE, d, kCounts, MPI_DOUBLE, MPI_SUM, comm);
    }
    if (reduction == kReduceScatterBlock) {
      MPI_Reduce_scatter_block(MPI_IN_PLACE, d, kBlock, MPI_DOUBLE, MPI_SUM, comm);
    }
    return;
  }
  if (reduction == kAllreduce) MPI_Iallreduce(MPI_IN_PLACE, d, kAll, MPI_DOUBLE, MPI_SUM, comm, r);
  if (reduction == kScan) MPI_Iscan(MPI_IN_PLACE, d, kAll, MPI_DOUBLE, MPI_SUM, comm, r);
  if (reduction == kExscan) MPI_Iexscan(MPI_IN_PLACE, d, kAll, MPI_DOUBLE, MPI_SUM, comm, r);
  if (reduction == kReduceScatter) {
    MPI_Ireduce_scatter(MPI_IN_PLACE, d, kCounts, MPI_DOUBLE, MPI_SUM, comm, r);
  }
  if (reduction == kReduceScatterBlock) {
    MPI_Ireduce_scatter_block(MPI_IN_PLACE, d, kBlock, MPI_DOUBLE, MPI_SUM, comm, r);
  }
  Wait();
}

static void Reduce(int reduction, int nonblocking, MPI_Comm comm) {
  SetBlocks();
  Start(reduction, nonblocking, comm);
  const int scattered = reduction == kReduceScatter || reduction == kReduceScatterBlock;
  const int ranks = reduction == kScan ? g_rank + 1 : reduction == kExscan ? g_rank : kRanks;
  if (ranks == 0) return;  // undefined on rank 0
  for (int i = 0; i < (scattered ? kBlock : kAll); ++i) {
    REQUIRE(g_data[i] == Sum(ranks, scattered ? g_rank : i / kBlock, i % kBlock));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  g_rank = WorldRank();
  GatherAndScatter(MPI_COMM_WORLD);
  GatherToAll(MPI_COMM_WORLD);
  Exchange(MPI_COMM_WORLD);
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
    ReduceToRoot(MPI_COMM_WORLD, nonblocking);
    for (int i = 0; i < kReductions; ++i) Reduce(i, nonblocking, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
