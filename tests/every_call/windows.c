// SPDX-License-Identifier: Apache-2.0
// Every function that makes or synchronises a window, and the transfers. Rank 0 reaches into the
// memory of rank 1.
#include "tests/every_call/every_call.h"

enum { kInts = 4 };

static int memory[kInts];
static MPI_Win window;
static MPI_Group others;

#define WAIT(request) DO(MPI_Wait, &request, MPI_STATUS_IGNORE)
// What each transfer has before and after its target's place.
#define FROM(place) &place, 1, MPI_INT
#define AT(place) 1, place, 1, MPI_INT

static void Free(void) {
  Observe(memory, sizeof(memory));
  DO(MPI_Win_free, &window);
}

static void Create(void) {
  for (int i = 0; i < kInts; ++i) memory[i] = 30 + i;
  DO(MPI_Win_create, memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}

static void Fences(int rank) {
  Create();
  DO(MPI_Win_set_name, window, "halo");
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  DO(MPI_Win_set_info, window, info);
  MPI_Info_free(&info);
  DO(MPI_Win_fence, 0, window);
  if (rank == 0) DO(MPI_Put, &rank, 1, MPI_INT, AT(2), window);
  DO(MPI_Win_fence, 0, window);
  Free();
}

static void Exposures(int rank) {
  Create();
  for (int round = 0; round < 2; ++round) {
    if (rank == 0) {
      DO(MPI_Win_start, others, 0, window);
      DO(MPI_Put, &round, 1, MPI_INT, AT(round), window);
      DO(MPI_Win_complete, window);
    } else {
      DO(MPI_Win_post, others, 0, window);
      int flag = 0;
      if (round == 0) {
        DO(MPI_Win_wait, window);
      } else {
        POLL(flag, MPI_Win_test, window, &flag);
      }
    }
  }
  Free();
}

static void Locks(int rank) {
  Create();
  if (rank == 0) {
    int value = 77;
    int got = 0;
    MPI_Request request = MPI_REQUEST_NULL;
#define NAME(name) name
#include "tests/every_call/window_transfers.h"
#undef NAME
#if MPI_VERSION >= 4
#define NAME(name) name##_c
#include "tests/every_call/window_transfers.h"
#endif
    DO(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, 1, 0, window);
    DO(MPI_Fetch_and_op, &value, &got, MPI_INT, 1, 0, MPI_SUM, window);
    DO(MPI_Win_flush, 1, window);
    Observe(&got, sizeof(got));
    const int expected = got + value;
    DO(MPI_Compare_and_swap, &value, &expected, &got, MPI_INT, 1, 0, window);
    DO(MPI_Win_unlock, 1, window);
    Observe(&got, sizeof(got));
  }
  // Rank 1 may look at its memory only after the transfers.
  DO(MPI_Barrier, MPI_COMM_WORLD);
  DO(MPI_Win_lock_all, 0, window);
  DO(MPI_Win_flush_local_all, window);
  DO(MPI_Win_unlock_all, window);
  Free();
}

int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  const int rank = WorldRank();
  const int other = 1 - rank;
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &other, &others);
  Fences(rank);
  Exposures(rank);
  Locks(rank);

  const MPI_Info info = MPI_INFO_NULL;
  const MPI_Comm comm = MPI_COMM_WORLD;
  void* base = NULL;
  DO(MPI_Win_allocate, kInts, 1, info, comm, &base, &window);
  DO(MPI_Win_free, &window);
  DO(MPI_Win_allocate_shared, kInts, 1, info, comm, &base, &window);
  DO(MPI_Win_free, &window);
  DO(MPI_Win_create_dynamic, info, comm, &window);
  DO(MPI_Win_free, &window);
#if MPI_VERSION >= 4
  DO(MPI_Win_create_c, memory, sizeof(memory), 1, info, comm, &window);
  DO(MPI_Win_free, &window);
  DO(MPI_Win_allocate_c, kInts, 1, info, comm, &base, &window);
  DO(MPI_Win_free, &window);
  DO(MPI_Win_allocate_shared_c, kInts, 1, info, comm, &base, &window);
  DO(MPI_Win_free, &window);
#endif
  MPI_Group_free(&others);
  MPI_Group_free(&world);
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
