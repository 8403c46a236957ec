/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that the programs of tests/bench share: what one call costs, in short batches.

   The program defines CALL_ONCE, an expression of type int that makes the call once, before it
   includes this; kSites[0] to [15] make it from 16 functions, so that no stack is like the one
   before. */
#ifndef ROLLCALL_TESTS_BENCH_CALL_COST_H_
#define ROLLCALL_TESTS_BENCH_CALL_COST_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SITE(n) \
  __attribute__((noinline)) static int Site##n(void) { return CALL_ONCE + n; }
// clang-format off
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)
SITE(8) SITE(9) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)
static int (*const kSites[])(void) = {Site0,  Site1,  Site2,  Site3,  Site4,  Site5,  Site6,  Site7,
                                      Site8,  Site9,  Site10, Site11, Site12, Site13, Site14, Site15};
// clang-format on

static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* What is measured: makes `calls` calls. */
typedef void (*Batch)(int calls);

/* The least that recording a call takes on this machine, to compare figures of different hours: two
   time stamps, a hash, and the stores of one record, in a ring of 1 MiB. */
static uint64_t TimeStamp(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return (uint64_t)NowNs();
#endif
}
static void Calibration(int calls) {
  enum { kSlots = 8192, kWords = 16 };
  static uint64_t ring[kSlots][kWords], hash, last_end;
  for (int i = 0; i < calls; ++i) {
    volatile uint64_t* slot = ring[i % kSlots];
    const uint64_t start = TimeStamp();
    hash = (hash ^ (start + (hash << 12))) * 0xff51afd7ed558ccd;
    for (int word = 3; word < kWords; ++word) slot[word] = hash;
    slot[2] = last_end;
    slot[1] = start;
    slot[0] = (uint64_t)i;
    last_end = TimeStamp();
  }
}
static struct {
  Batch batch;
  int batches, calls;
  double* ns; /* per call, of each batch */
} cost;

/* Short batches, so that one which nothing interrupted is among them. */
static void Measure(void) {
  cost.batch(cost.calls); /* first sights */
  for (int i = 0; i < cost.batches; ++i) {
    const double start = NowNs();
    cost.batch(cost.calls);
    cost.ns[i] = (NowNs() - start) / cost.calls;
  }
}

static volatile int keep_frame;
__attribute__((noinline)) static void AtDepth(int depth) {
  if (depth == 0) {
    Measure();
  } else {
    AtDepth(depth - 1);
  }
  keep_frame = depth; /* no tail call */
}

/* Measures `batch` with `depth` frames between main and the loop. 0 if there was no memory. */
static int MeasureCalls(Batch batch, int depth, int batches, int calls) {
  cost.batch = batch;
  cost.batches = batches;
  cost.calls = calls;
  cost.ns = calloc((size_t)batches, sizeof(*cost.ns));
  if (cost.ns == NULL) return 0;
  AtDepth(depth);
  return 1;
}

static void PrintCosts(void) {
  for (int i = 0; i < cost.batches; ++i) printf("%.2f\n", cost.ns[i]);
}

#endif  // ROLLCALL_TESTS_BENCH_CALL_COST_H_
