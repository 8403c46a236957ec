// A thread of rank 3, which passes nothing on, writes to the receive buffer of a broadcast that has
// not been waited for. To be the same in every run, it is started when the data is in the buffer,
// which no program may know before the request is complete, and has ended before MPI_Wait.
//
// rollcall-test: ranks=4 data=full check=
// expect: kind=result-differs culprits=3 waiting=none op=MPI_Ibcast seq=2 certainty=proven
#include <pthread.h>

#include "tests/faults/data.h"

enum { kElements = 5000, kWritten = 1234 };

static int g_field[kElements];

#ifdef FAULT
static void* WriteToField(void* unused) {
  (void)unused;
  g_field[kWritten] = -1;
  return NULL;
}
#endif

// Waits for the data of a request that stays to be completed. MPI_Iprobe makes progress.
static void AwaitData(int step) {
  const volatile int* field = g_field;
  for (int i = 0; i < kElements;) {
    int unused = 0;
    if (field[i] == step + i) {
      ++i;
    } else {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &unused, MPI_STATUS_IGNORE);
    }
  }
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  const int rank = WorldRank();
  long sum = 0;
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < kElements; ++i) g_field[i] = rank == 0 ? step + i : 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(g_field, kElements, MPI_INT, 0, MPI_COMM_WORLD, &request);  // @culprit
    AwaitData(step);
#ifdef FAULT
    if (rank == 3 && step == 1) {
      pthread_t thread;
      REQUIRE(pthread_create(&thread, NULL, WriteToField, NULL) == 0);
      pthread_join(thread, NULL);
    }
#endif
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < kElements; ++i) {
#ifdef FAULT
      REQUIRE((g_field[i] == step + i) == (rank != 3 || step != 1 || i != kWritten));
#else
      REQUIRE(g_field[i] == step + i);
#endif
      sum += g_field[i];
    }
  }
  Report("sum", (double)sum);
  MPI_Finalize();
  return 0;
}
