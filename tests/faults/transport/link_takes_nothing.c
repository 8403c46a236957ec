// Rank 1's network accepts no more data: the kernel tells its writev() to try again, forever.
// All ranks are inside the same call with the same arguments, and no rank returns.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2 mpi=openmpi
// launcher: --mca btl tcp,self
// expect: kind=transport-stalled culprits=none waiting=0-2 op=MPI_Allreduce seq=2 certainty=likely
// expect+: lines=none
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/faults/fault.h"

#ifdef FAULT
static void LinkTakesNothing(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("seccomp");
    exit(9);
  }
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  if (WorldRank() == 1) LinkTakesNothing();
#endif
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
