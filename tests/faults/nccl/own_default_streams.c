// Two threads, each with a communicator and with its own default stream, as in programs compiled
// for that. They call alternately, on rank 1 in the opposite order: one handle, but not one
// stream. Rank 1 skips a reduction of one thread; that the other thread's stream is complete
// does not show that.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=ncclAllReduce seq=3
// expect+: certainty=proven,likely
#include <pthread.h>
#include <semaphore.h>

#include "tests/faults/nccl/nccl_fault.h"

// The name of cudaStreamSynchronize in such programs.
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);

static ncclComm_t comms[2];
static float* data[2];
static sem_t turns[2];

static void TakeTime(void* unused) {
  (void)unused;
  usleep(700 * 1000);
}

static void PassTurn(int from) { sem_post(&turns[1 - from]); }

static void* Train(void* which) {
  const int i = (int)(size_t)which;
  for (int step = 0; step < 3; ++step) {
    sem_wait(&turns[i]);
    if (step == 2) cudaLaunchHostFunc(cudaStreamPerThread, TakeTime, NULL);
#ifdef FAULT
    if (i != 1 || step != 1 || Rank() != 1)
#endif
      ncclAllReduce(data[i], data[i], 16, ncclFloat32, ncclMax, comms[i],  // @waiting
                    cudaStreamPerThread);
    ncclBroadcast(data[i], data[i], 16, ncclFloat32, 0, comms[i],  // @culprit
                  cudaStreamPerThread);
    PassTurn(i);
    cudaStreamSynchronize_ptsz(NULL);
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < 2; ++i) {
    comms[i] = InitComm(i);
    data[i] = Floats(16, 1);
    sem_init(&turns[i], 0, 0);
  }
  sem_post(&turns[Rank() != 1]);
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, Train, (void*)i);
  for (size_t i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  Report("max", data[0][0]);
  return 0;
}
