// The environment of rank 1 asks for what its MPI library does not have: MPI ends it inside
// MPI_Init_thread, in which the others wait for it.
//
// rollcall-test: ranks=3 outcome=failed outcome[mpich]=hung
// expect: kind=rank-died culprits=1 waiting=0,2 op=MPI_Init_thread seq=any certainty=proven
#include "tests/faults/fault.h"

static void Configure(void) {
#ifdef FAULT
  if (LaunchedAs() != 1) return;
  setenv("OMPI_MCA_pml", "nosuch", 1);
  setenv("MPIR_CVAR_ASYNC_PROGRESS", "nosuch", 1);
#endif
}

int main(int argc, char** argv) {
  Configure();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);  // @culprit @waiting
  Report("size", WorldSize());
  MPI_Finalize();
  return 0;
}
