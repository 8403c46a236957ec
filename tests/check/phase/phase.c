/* SPDX-License-Identifier: Apache-2.0 */
/* Calls each function of rollcall.h. Passes texts to rollcall_phase() before MPI_Init, and after
 * it, and values of many types: phase [TEXT]. With "hang", rank 0 then waits for the others, which
 * have left. Without mpi.h, which is not C89. */
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

enum number { kThree = 3 };
struct fields {
  unsigned bits : 3;
};

int main(int argc, char** argv) {
  static const float buffer[4] = {1, 2, 3, 4};
  static const struct fields fields = {5};
  const short small = -2;
  const unsigned char large = 255;
  int counter = 0;
  rollcall_phase("before MPI_Init");
  rollcall_value("before", 1);
  rollcall_elements(buffer, sizeof(buffer), "float32");
  rollcall_elements(buffer, sizeof(buffer), NULL);
  rollcall_replica("buffer", buffer, sizeof(buffer));
  MPI_Init(&argc, &argv);
  if (argc > 1) {
    rollcall_phase(argv[1]);
    rollcall_value("counter", counter++);
    if (counter != 1) return 1;
    rollcall_value("short", small);
    rollcall_value("char", large);
    rollcall_value("size", sizeof(buffer));
    rollcall_value("most", ~0ul);
    rollcall_value("enumerator", kThree);
    rollcall_value("bits", fields.bits);
    rollcall_value("float", buffer[0] / 2);
    rollcall_value("double", 0.1);
    rollcall_value("true", argc == 2);
    rollcall_value_bytes("bytes", buffer, sizeof(buffer));
    if (fork() == 0) {
      rollcall_phase("a child's");
      _exit(0);
    }
    wait(NULL);
    if (strcmp(argv[1], "hang") == 0) {
      const int rank = wait_for_all();
      rollcall_value("goes on", rank == 0);
      if (rank == 0) {
        rollcall_phase("tests/phase.c::rank_0; alone");
        wait_for_all();
      }
    }
  }
  MPI_Finalize();
  puts("done");
  return 0;
}
