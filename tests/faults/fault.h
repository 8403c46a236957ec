// Code of all fault programs and true negatives. A fault and its control are one source with one
// `#ifdef FAULT`. The source's header comment says what rollcall must report (its form is in
// tests/jobs/expectations.py), and the lines that it must name carry a marker comment.
#ifndef ROLLCALL_TESTS_FAULTS_FAULT_H_
#define ROLLCALL_TESTS_FAULTS_FAULT_H_

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
#define ROLLCALL_FAULT_INLINE inline
#else
#define ROLLCALL_FAULT_INLINE static inline
#endif

// The safety net: no program runs longer than two minutes, even if the test that started it fails.
// A pending alarm costs nothing and is not visible to any MPI call.
__attribute__((constructor)) static void ArmSafetyNet(void) { alarm(120); }

ROLLCALL_FAULT_INLINE int WorldRank(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

ROLLCALL_FAULT_INLINE int WorldSize(void) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// The same before MPI_Init, by the variables of the launchers.
ROLLCALL_FAULT_INLINE int LaunchedAs(void) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  return rank == NULL ? -1 : atoi(rank);
}

// Rank 0 prints a result; a run under rollcall must print what the bare run prints.
ROLLCALL_FAULT_INLINE void Report(const char* what, double value) {
  if (WorldRank() == 0) {
    printf("%s %.6g\n", what, value);
    fflush(stdout);
  }
}

// The others report to `rank` that they have reached this point: if a rank dies, messages that the
// others still need may be lost, and not all of them would reach the call in which they must wait.
ROLLCALL_FAULT_INLINE void ArriveBefore(int rank) {
  if (WorldRank() != rank) {
    MPI_Send(NULL, 0, MPI_INT, rank, 99, MPI_COMM_WORLD);
    return;
  }
  for (int other = 0; other < WorldSize(); ++other) {
    if (other == rank) continue;
    MPI_Recv(NULL, 0, MPI_INT, other, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// A buffer of `count` elements of `size` bytes, zeroed; the program ends if there is none.
ROLLCALL_FAULT_INLINE void* Buffer(size_t count, size_t size) {
  void* buffer = calloc(count, size);
  if (buffer == NULL) {
    perror("calloc");
    exit(9);
  }
  return buffer;
}

#endif  // ROLLCALL_TESTS_FAULTS_FAULT_H_
