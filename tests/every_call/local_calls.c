// SPDX-License-Identifier: Apache-2.0
// Functions that wait for nobody: groups, datatypes, topologies and what asks about them.
#include "tests/every_call/every_call.h"

static void Use(MPI_Datatype type) {
  DO(MPI_Type_commit, &type);
  int size = 0;
  MPI_Type_size(type, &size);
  Observe(&size, sizeof(size));
  DO(MPI_Type_free, &type);
}

static void UseGroup(MPI_Group group) {
  int seen[2];
  DO(MPI_Group_size, group, &seen[0]);
  DO(MPI_Group_rank, group, &seen[1]);
  Observe(seen, sizeof(seen));
  DO(MPI_Group_free, &group);
}

static void Groups(int rank) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group one = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  int ranges[1][3] = {{0, 1, 1}};
  int seen = 0;
  DO(MPI_Comm_group, MPI_COMM_WORLD, &world);
  DO(MPI_Group_incl, world, 1, &rank, &one);
  DO(MPI_Group_compare, world, one, &seen);
  Observe(&seen, sizeof(seen));
  DO(MPI_Group_translate_ranks, world, 1, &rank, one, &seen);
  Observe(&seen, sizeof(seen));
  DO(MPI_Group_excl, world, 1, &rank, &group);
  UseGroup(group);
  DO(MPI_Group_range_incl, world, 1, ranges, &group);
  UseGroup(group);
  DO(MPI_Group_range_excl, one, 0, ranges, &group);
  UseGroup(group);
  DO(MPI_Group_union, world, one, &group);
  UseGroup(group);
  DO(MPI_Group_intersection, world, one, &group);
  UseGroup(group);
  DO(MPI_Group_difference, world, one, &group);
  UseGroup(group);
  UseGroup(one);
  UseGroup(world);
}

static void OtherGroups(int rank) {
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  int seen = 0;
  DO(MPI_Intercomm_create, MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 8, &between);
  DO(MPI_Comm_remote_group, between, &group);
  UseGroup(group);
  DO(MPI_Comm_remote_size, between, &seen);
  Observe(&seen, sizeof(seen));
  DO(MPI_Comm_compare, MPI_COMM_WORLD, MPI_COMM_SELF, &seen);
  Observe(&seen, sizeof(seen));
  DO(MPI_Comm_free, &between);

  void* base = NULL;
  MPI_Win window = MPI_WIN_NULL;
  DO(MPI_Win_allocate, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  DO(MPI_Win_get_group, window, &group);
  UseGroup(group);
  DO(MPI_Win_free, &window);

  char path[4096];
  const char* directory = getenv("EVERY_CALL_DIR");
  snprintf(path, sizeof(path), "%s/local", directory != NULL ? directory : "/tmp");
  MPI_File file = MPI_FILE_NULL;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  DO(MPI_File_open, MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
  DO(MPI_File_get_group, file, &group);
  UseGroup(group);
  DO(MPI_File_close, &file);
}

static void Grid(int rank) {
  int dims[2] = {0, 0};
  const int periodic[2] = {0, 1};
  int seen[6] = {0};
  MPI_Comm grid = MPI_COMM_NULL;
  DO(MPI_Dims_create, 2, 2, dims);
  DO(MPI_Cart_map, MPI_COMM_WORLD, 2, dims, periodic, &seen[0]);
  DO(MPI_Cart_create, MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
  DO(MPI_Topo_test, grid, &seen[1]);
  Observe(seen, sizeof(seen));
  DO(MPI_Cartdim_get, grid, &seen[0]);
  DO(MPI_Cart_coords, grid, rank, 2, &seen[1]);
  DO(MPI_Cart_rank, grid, &seen[1], &seen[3]);
  DO(MPI_Cart_shift, grid, 0, 1, &seen[4], &seen[5]);
  Observe(seen, sizeof(seen));
  DO(MPI_Cart_get, grid, 2, &seen[0], &seen[2], &seen[4]);
  Observe(seen, sizeof(seen));
  DO(MPI_Comm_free, &grid);
}

static void Graphs(int rank) {
  const int other = 1 - rank;
  const int ends[2] = {1, 2};
  const int edges[2] = {1, 0};
  int seen[4] = {0};
  MPI_Comm graph = MPI_COMM_NULL;
  DO(MPI_Graph_map, MPI_COMM_WORLD, 2, ends, edges, &seen[0]);
  DO(MPI_Graph_create, MPI_COMM_WORLD, 2, ends, edges, 0, &graph);
  DO(MPI_Graphdims_get, graph, &seen[1], &seen[2]);
  Observe(seen, sizeof(seen));
  DO(MPI_Graph_get, graph, 2, 2, &seen[0], &seen[2]);
  Observe(seen, sizeof(seen));
  DO(MPI_Graph_neighbors_count, graph, rank, &seen[0]);
  DO(MPI_Graph_neighbors, graph, rank, 1, &seen[1]);
  Observe(seen, sizeof(seen));
  DO(MPI_Comm_free, &graph);
  DO(MPI_Dist_graph_create_adjacent, MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other,
     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  DO(MPI_Dist_graph_neighbors_count, graph, &seen[0], &seen[1], &seen[2]);
  DO(MPI_Dist_graph_neighbors, graph, 1, &seen[0], MPI_UNWEIGHTED, 1, &seen[1], MPI_UNWEIGHTED);
  Observe(seen, sizeof(seen));
  DO(MPI_Comm_free, &graph);
}

static void Types(void) {
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  DO(MPI_Type_dup, MPI_INT, &copy);
  Use(copy);
#define NAME(name) name
#define COUNTS int
#define AINTS MPI_Aint
#include "tests/every_call/type_makers.h"
#undef NAME
#undef COUNTS
#undef AINTS
#if MPI_VERSION >= 4
#define NAME(name) name##_c
#define COUNTS MPI_Count
#define AINTS MPI_Count
#include "tests/every_call/type_makers.h"
#endif
}

int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  const int rank = WorldRank();
  Groups(rank);
  OtherGroups(rank);
  Grid(rank);
  Graphs(rank);
  Types();
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
