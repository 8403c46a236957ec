// Each step asks for the group of a communicator, makes a smaller one, a datatype and an operation,
// and frees none of them. In the control all are freed: the datatype while a message of it is still
// to be received, and the group of MPI_COMM_WORLD as often as it was asked for.
//
// rollcall-test: ranks=2 outcome=finished check=--fail-on=errors
// expect: kind=handle-leak culprits=0-1 waiting=any op=MPI_Op_create seq=any certainty=proven
// expect+: lines=none
// expect: kind=handle-leak culprits=0-1 waiting=any op=MPI_Comm_group seq=any certainty=proven
// expect+: lines=culprit
// expect: kind=handle-leak culprits=0-1 waiting=any op=MPI_Group_incl seq=any certainty=proven
// expect+: lines=none
// expect: kind=handle-leak culprits=0-1 waiting=any op=MPI_Type_vector seq=any certainty=proven
// expect+: lines=none
#include "tests/faults/fault.h"

static void Larger(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    if (((double*)in)[i] > ((double*)inout)[i]) ((double*)inout)[i] = ((double*)in)[i];
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int other = 1 - rank;
#ifdef FAULT
  const int frees = 0;
#else
  const int frees = 1;
#endif
  double field[4] = {rank, 1, 2, 3};
  double peers[4] = {0};
  double largest = 0;
  for (int step = 0; step < 3; ++step) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group pair = MPI_GROUP_NULL;
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);  // @culprit
    MPI_Group_incl(world, 1, &other, &pair);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Op_create(Larger, 1, &op);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(peers, 1, column, other, step, MPI_COMM_WORLD, &request);
    MPI_Send(field, 1, column, other, step, MPI_COMM_WORLD);
    if (frees) MPI_Type_free(&column);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&peers[2], &largest, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    if (frees) {
      MPI_Op_free(&op);
      MPI_Group_free(&pair);
      MPI_Group_free(&world);
    }
  }
  Report("largest", largest);
  MPI_Finalize();
  return 0;
}
