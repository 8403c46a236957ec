/* SPDX-License-Identifier: Apache-2.0 */
/* What reading the data of a reduction costs, for tests/bench/data, which starts it with each
   ROLLCALL_DATA, and with data_cost_noop.c behind librollcall.so: the reduction itself does
   nothing.

   data_cost BATCHES CALLS READS BYTES
   Prints, per batch: nanoseconds of a call, of a plain loop over all words of both buffers, and of
   a plain loop over the words that a sample takes of both. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kSample = 64 };
/* 0. Added to an address with the sum of the buffer before, it makes the processor read one buffer
   after the other, as it does where each of them is read in a call of its own. */
static volatile uint64_t g_mask, g_sink;

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t ReadAll(const uint64_t* words, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

/* The words of proto/ring_format.h, SampledWord(). */
static uint64_t ReadSample(const uint64_t* words, size_t count, uint64_t sequence) {
  if (count <= kSample) return ReadAll(words, count);
  const size_t stride = count / kSample;
  const size_t first = sequence * 0x9e3779b97f4a7c15u % stride;
  uint64_t sum = 0;
  for (size_t k = 0; k < kSample; ++k) sum += words[k * stride + first];
  return sum;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  MPI_Init(&argc, &argv);
  const int batches = atoi(argv[1]), calls = atoi(argv[2]), reads = atoi(argv[3]);
  const size_t bytes = strtoull(argv[4], NULL, 10), count = bytes / 8;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double* in = malloc(bytes);
  double* out = malloc(bytes);
  if (in == NULL || out == NULL) return 2;
  for (size_t i = 0; i < count; ++i) in[i] = out[i] = (double)i + 0.5;
  for (int batch = 0; rank == 0 && batch < batches; ++batch) {
    double times[4] = {Now()};
    for (int i = 0; i < calls; ++i) {
      MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    times[1] = Now();
    uint64_t zero = 0;
    for (int i = 0; i < reads; ++i) {
      zero = ReadAll((uint64_t*)in + zero, count) & g_mask;
      zero = ReadAll((uint64_t*)out + zero, count) & g_mask;
    }
    times[2] = Now();
    for (int i = 0; i < calls; ++i) {
      zero = ReadSample((uint64_t*)in + zero, count, (uint64_t)i) & g_mask;
      zero = ReadSample((uint64_t*)out + zero, count, (uint64_t)i) & g_mask;
    }
    times[3] = Now();
    g_sink = zero;
    for (int i = 0; i < 3; ++i) {
      printf("%.2f%c", (times[i + 1] - times[i]) / (i == 1 ? reads : calls), i == 2 ? '\n' : ' ');
    }
  }
  MPI_Finalize();
  return 0;
}
