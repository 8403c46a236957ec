// For the programs about the data that ranks exchange: tests/faults/data and true_negatives/data_*.
#ifndef ROLLCALL_TESTS_FAULTS_DATA_H_
#define ROLLCALL_TESTS_FAULTS_DATA_H_

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/faults/fault.h"

// Ends the job if a result is wrong.
#define REQUIRE(condition) \
  ((condition) ? (void)0 : ReportWrongResult(__FILE__, __LINE__, #condition))

ROLLCALL_FAULT_INLINE void ReportWrongResult(const char* file, int line, const char* condition) {
  fprintf(stderr, "%s:%d: rank %d: not true: %s\n", file, line, WorldRank(), condition);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

// Fills memory with NaNs as doubles and as floats, which depend on `seed` and position. With the
// own rank as seed it is what no call may read: it differs between ranks.
ROLLCALL_FAULT_INLINE void FillWithNans(void* memory, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) {
    const uint64_t high = 0x7ff80000u | (seed + 1) << 12 | (i & 0xfff);
    const uint64_t low = 0x7fc00000u | (seed + 1) << 12 | (i & 0xfff);
    const uint64_t word = high << 32 | low;
    memcpy((char*)memory + i * sizeof(word), &word, sizeof(word));
  }
}

// Whether `count` doubles still hold the bits that FillWithNans() gave them, from position `first`
// on.
ROLLCALL_FAULT_INLINE int AreNansOf(const double* values, size_t first, size_t count,
                                    unsigned seed) {
  double expected[256];
  FillWithNans(expected, sizeof(expected), seed);
  return memcmp(values + first, expected + first, count * sizeof(double)) == 0;
}

// A value in [-1, 1) that depends on both numbers: data that no two samples share.
ROLLCALL_FAULT_INLINE double Sample(unsigned sample, unsigned element) {
  uint64_t state = ((uint64_t)sample << 32 | element) + 0x9e3779b97f4a7c15u;
  state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
  state = (state ^ state >> 27) * 0x94d049bb133111ebu;
  return (double)(int64_t)(state ^ state >> 31) / 9223372036854775808.0;
}

#endif  // ROLLCALL_TESTS_FAULTS_DATA_H_
