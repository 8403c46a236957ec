// SPDX-License-Identifier: Apache-2.0
// Every way to make a communicator, and to end one; user-defined types and operations.
#include "tests/every_call/every_call.h"

static void Smaller(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    const int mine = ((int*)in)[i];
    int* other = &((int*)inout)[i];
    if (mine < *other) *other = mine;
  }
}

#if MPI_VERSION >= 4
static void SmallerOfMany(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  int plain = (int)*count;
  Smaller(in, inout, &plain, type);
}
#endif

// Uses the communicator, and frees it.
static void UseAndFree(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  DO(MPI_Barrier, comm);
  Observe(&size, sizeof(size));
  DO(MPI_Comm_free, &comm);
}

static void Operations(void) {
  const int mine = WorldRank() + 3;
  int least = 0;
  MPI_Op op = MPI_OP_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1, MPI_INT, &type);
  MPI_Type_commit(&type);
  DO(MPI_Op_create, Smaller, 1, &op);
  DO(MPI_Allreduce, &mine, &least, 1, type, op, MPI_COMM_WORLD);
  Observe(&least, sizeof(least));
  DO(MPI_Op_free, &op);
#if MPI_VERSION >= 4
  DO(MPI_Op_create_c, SmallerOfMany, 1, &op);
  DO(MPI_Allreduce, &mine, &least, 1, type, op, MPI_COMM_WORLD);
  Observe(&least, sizeof(least));
  DO(MPI_Op_free, &op);
#endif
  DO(MPI_Type_free, &type);
}

int main(int argc, char** argv) {
  int provided = 0;
  DO(MPI_Init_thread, &argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  const MPI_Comm world = MPI_COMM_WORLD;
  const int rank = WorldRank();
  const int other = 1 - rank;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(world, &group);

  DO(MPI_Comm_dup, world, &comm);
  DO(MPI_Comm_set_name, comm, "a copy");
  UseAndFree(comm);
  DO(MPI_Comm_dup_with_info, world, MPI_INFO_NULL, &comm);
  UseAndFree(comm);
  DO(MPI_Comm_idup, world, &comm, &request);
  DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
  UseAndFree(comm);
#if MPI_VERSION >= 4
  DO(MPI_Comm_idup_with_info, world, MPI_INFO_NULL, &comm, &request);
  DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
  UseAndFree(comm);
#endif
  DO(MPI_Comm_create, world, group, &comm);
  UseAndFree(comm);
  DO(MPI_Comm_create_group, world, group, 7, &comm);
  UseAndFree(comm);
  DO(MPI_Comm_split, world, 0, -rank, &comm);
  UseAndFree(comm);
  DO(MPI_Comm_split_type, world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  UseAndFree(comm);
  DO(MPI_Comm_dup, world, &comm);
  DO(MPI_Comm_disconnect, &comm);

  // Two groups of one rank each.
  MPI_Comm between = MPI_COMM_NULL;
  DO(MPI_Intercomm_create, MPI_COMM_SELF, 0, world, other, 8, &between);
  DO(MPI_Barrier, between);
  DO(MPI_Intercomm_merge, between, rank, &comm);
  UseAndFree(comm);
  DO(MPI_Comm_free, &between);

  const int sizes[2] = {2, 1};
  const int periodic[2] = {0, 0};
  const int remains[2] = {1, 0};
  MPI_Comm cart = MPI_COMM_NULL;
  DO(MPI_Cart_create, world, 2, sizes, periodic, 0, &cart);
  DO(MPI_Cart_sub, cart, remains, &comm);
  UseAndFree(comm);
  UseAndFree(cart);
  const int ends[2] = {1, 2};
  const int edges[2] = {1, 0};
  DO(MPI_Graph_create, world, 2, ends, edges, 0, &comm);
  UseAndFree(comm);
  const int degree = 1;
  DO(MPI_Dist_graph_create, world, 1, &rank, &degree, &other, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
     &comm);
  UseAndFree(comm);
  DO(MPI_Dist_graph_create_adjacent, world, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED,
     MPI_INFO_NULL, 0, &comm);
  UseAndFree(comm);
  MPI_Group_free(&group);
  Operations();
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
