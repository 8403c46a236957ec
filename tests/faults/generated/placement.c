// One driver for hundreds of generated faults: its arguments specify the place and kind of the
// fault, so that no placement needs a compilation of its own. tests/jobs/placements.py makes
// the arguments and the expected verdict.
//
//   placement MODE OP RANK DEPTH ITERATION COUNT COMMUNICATOR
//     MODE          none, skip, extra, swap, root, op, type, count, short, leave, kill
//     OP            the collective in the loop, by its name below
//     RANK          the culprit
//     DEPTH         frames between main and the collective
//     ITERATION     when
//     COUNT         elements per rank
//     COMMUNICATOR  world or dup
#include <signal.h>
#include <string.h>

#include "tests/faults/fault.h"

enum { kIterations = 6, kMaxRanks = 8 };

typedef struct {
  const char* mode;
  const char* op;
  int culprit;
  int depth;
  int iteration;
  int count;
  MPI_Comm comm;
  int rank;
  double* send;
  double* receive;
} Plan;

// Whether this rank makes the fault of `mode` now.
static int Wrong(const Plan* plan, const char* mode, int iteration) {
  return plan->rank == plan->culprit && iteration == plan->iteration &&
         strcmp(plan->mode, mode) == 0;
}

static int Is(const Plan* plan, const char* op) { return strcmp(plan->op, op) == 0; }

// The collective under test. Faults in its arguments are made here; the caller decides whether it
// is called at all.
__attribute__((always_inline)) static inline void Call(const Plan* plan, int iteration) {
  const int root = Wrong(plan, "root", iteration) ? plan->culprit : (plan->culprit == 0 ? 1 : 0);
  const int count = Wrong(plan, "count", iteration) ? plan->count / 2 : plan->count;
  const MPI_Datatype type = Wrong(plan, "type", iteration) ? MPI_INT : MPI_FLOAT;
  const MPI_Op op = Wrong(plan, "op", iteration) ? MPI_MAX : MPI_SUM;
  const MPI_Comm comm = plan->comm;
  void* const in = plan->send;
  void* const out = plan->receive;
  MPI_Request request = MPI_REQUEST_NULL;
  if (Is(plan, "MPI_Barrier")) {
    MPI_Barrier(comm);  // @site:MPI_Barrier
  } else if (Is(plan, "MPI_Bcast")) {
    MPI_Bcast(in, count, type, root, comm);  // @site:MPI_Bcast
  } else if (Is(plan, "MPI_Reduce")) {
    MPI_Reduce(in, out, count, type, op, root, comm);  // @site:MPI_Reduce
  } else if (Is(plan, "MPI_Allreduce")) {
    MPI_Allreduce(in, out, count, type, op, comm);  // @site:MPI_Allreduce
  } else if (Is(plan, "MPI_Gather")) {
    MPI_Gather(in, count, type, out, count, type, root, comm);  // @site:MPI_Gather
  } else if (Is(plan, "MPI_Scatter")) {
    MPI_Scatter(in, count, type, out, count, type, root, comm);  // @site:MPI_Scatter
  } else if (Is(plan, "MPI_Allgather")) {
    MPI_Allgather(in, count, type, out, count, type, comm);  // @site:MPI_Allgather
  } else if (Is(plan, "MPI_Alltoall")) {
    MPI_Alltoall(in, count, type, out, count, type, comm);  // @site:MPI_Alltoall
  } else if (Is(plan, "MPI_Scan")) {
    MPI_Scan(in, out, count, type, op, comm);  // @site:MPI_Scan
  } else if (Is(plan, "MPI_Reduce_scatter_block")) {
    MPI_Reduce_scatter_block(in, out, count, type, op, comm);  // @site:MPI_Reduce_scatter_block
  } else if (Is(plan, "MPI_Ibarrier")) {
    MPI_Ibarrier(comm, &request);  // @site:MPI_Ibarrier
  } else if (Is(plan, "MPI_Ibcast")) {
    MPI_Ibcast(in, count, type, root, comm, &request);  // @site:MPI_Ibcast
  } else if (Is(plan, "MPI_Iallreduce")) {
    MPI_Iallreduce(in, out, count, type, op, comm, &request);  // @site:MPI_Iallreduce
  } else {
    fprintf(stderr, "placement: unknown operation %s\n", plan->op);
    exit(9);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Two functions behind one call, so that they differ only in the operation.
__attribute__((noinline)) static void Usual(const Plan* plan, int iteration) {
  (void)iteration;
  MPI_Allreduce(plan->send, plan->receive, 1, MPI_DOUBLE, MPI_MAX, plan->comm);  // @site:usual
}

__attribute__((noinline)) static void Other(const Plan* plan, int iteration) {
  (void)iteration;
  const MPI_Datatype type = MPI_DOUBLE;
  MPI_Allgather(plan->send, 1, type, plan->receive, 1, type, plan->comm);  // @site:other
}

__attribute__((noinline, noreturn)) static void Leave(void) {
  MPI_Finalize();  // @site:leave
  exit(0);
}

__attribute__((noinline)) static void Step(const Plan* plan, int iteration) {
  const int extra = strcmp(plan->mode, "extra") == 0;
  if (extra ? Wrong(plan, "extra", iteration) : !Wrong(plan, "skip", iteration)) {
    Call(plan, iteration);
  }
  if (Wrong(plan, "leave", iteration)) Leave();
  void (*volatile next)(const Plan*, int) = Wrong(plan, "swap", iteration) ? Other : Usual;
  next(plan, iteration);
}

__attribute__((noinline)) static int Descend(const Plan* plan, int iteration, int depth) {
  if (depth > 0) {
    return Descend(plan, iteration, depth - 1) + 1;
  }
  Step(plan, iteration);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 8) {
    fprintf(stderr, "placement: seven arguments are needed\n");
    return 9;
  }
  Plan plan = {.mode = argv[1],
               .op = argv[2],
               .culprit = atoi(argv[3]),
               .depth = atoi(argv[4]),
               .iteration = atoi(argv[5]),
               .count = atoi(argv[6]),
               .comm = MPI_COMM_WORLD,
               .rank = WorldRank()};
  if (strcmp(argv[7], "dup") == 0) MPI_Comm_dup(MPI_COMM_WORLD, &plan.comm);
  plan.send = (double*)Buffer((size_t)plan.count * kMaxRanks + 64, sizeof(double));
  plan.receive = (double*)Buffer((size_t)plan.count * kMaxRanks + 64, sizeof(double));
  for (int i = 0; i < kIterations; ++i) {
    if (Wrong(&plan, "short", i)) break;
    if (i == plan.iteration && strcmp(plan.mode, "kill") == 0) ArriveBefore(plan.culprit);
    if (Wrong(&plan, "kill", i)) kill(getpid(), SIGKILL);
    Descend(&plan, i, plan.depth);
  }
  MPI_Allgather(plan.send, 1, MPI_INT, plan.receive, 1, MPI_INT, plan.comm);  // @site:after
  Report("done", kIterations);
  if (plan.comm != MPI_COMM_WORLD) MPI_Comm_free(&plan.comm);
  free(plan.send);
  free(plan.receive);
  Leave();
}
