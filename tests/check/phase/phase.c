/* SPDX-License-Identifier: Apache-2.0 */
/* Calls each function of rollcall.h. Passes texts to rollcall_phase() before MPI_Init, and after
 * it: phase [TEXT]. With "hang", rank 0 then waits for the others, which have left. Without mpi.h,
 * which is not C89. */
#include <rollcall/rollcall.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
int MPI_Init(int* argc, char*** argv);
int MPI_Finalize(void);
int wait_for_all(void); /* barrier.c */
#ifdef __cplusplus
}
#endif

int main(int argc, char** argv) {
  static const float buffer[4] = {1, 2, 3, 4};
  rollcall_phase("before MPI_Init");
  rollcall_elements(buffer, sizeof(buffer), "float32");
  rollcall_elements(buffer, sizeof(buffer), NULL);
  rollcall_replica("buffer", buffer, sizeof(buffer));
  MPI_Init(&argc, &argv);
  if (argc > 1) {
    rollcall_phase(argv[1]);
    if (fork() == 0) {
      rollcall_phase("a child's");
      _exit(0);
    }
    wait(NULL);
    if (strcmp(argv[1], "hang") == 0 && wait_for_all() == 0) {
      rollcall_phase("tests/phase.c::rank_0; alone");
      wait_for_all();
    }
  }
  MPI_Finalize();
  puts("done");
  return 0;
}
