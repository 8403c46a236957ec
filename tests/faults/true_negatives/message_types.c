// What is sent and what is received describe one message, in every way that MPI allows: a longer
// receive, equal signatures, packed data, bytes, nothing, MPI_PROC_NULL, a receive from any rank.
//
// rollcall-test: ranks=2 check=
// expect: none
#include "tests/faults/fault.h"

static void Exchange(const void* sent, int sends, MPI_Datatype type, void* got, int room,
                     MPI_Datatype as, int tag) {
  if (WorldRank() == 0) {
    MPI_Send(sent, sends, type, 1, tag, MPI_COMM_WORLD);
  } else {
    MPI_Recv(got, room, as, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int sent[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int got[64] = {0};
  char packed[256];
  int place = 0;
  MPI_Request request;
  MPI_Datatype four;
  MPI_Datatype column;
  MPI_Type_contiguous(4, MPI_INT, &four);
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&four);
  MPI_Type_commit(&column);

  Exchange(sent, 4, MPI_INT, got, 64, MPI_INT, 1);
  Exchange(sent, 1, four, got, 4, MPI_INT, 2);
  Exchange(sent, 1, column, got, 1, four, 2);
  Exchange(sent, 3, MPI_INT, got, 2, four, 2);
  Exchange(sent, 4, MPI_INT, got, 16, MPI_BYTE, 3);
  Exchange(sent, 16, MPI_BYTE, got, 1, four, 3);
  Exchange(sent, 0, MPI_INT, got, 4, MPI_FLOAT, 4);
  MPI_Pack(sent, 4, MPI_INT, packed, sizeof packed, &place, MPI_COMM_WORLD);
  Exchange(packed, place, MPI_PACKED, got, 4, MPI_INT, 5);
  Exchange(sent, 4, MPI_INT, packed, sizeof packed, MPI_PACKED, 5);
  Exchange(sent, 4, MPI_INT, got, 4, MPI_INT, 6);
  if (rank == 0) {
    MPI_Send(sent, 2, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
    MPI_Isend(sent, 2, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
    MPI_Send(sent, 4, MPI_INT, 1, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(sent, 2, MPI_INT, 0, 9, got, 2, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Status status;
    MPI_Recv(got, 4, MPI_INT, 0, 8, MPI_COMM_WORLD, &status);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Recv(got, 2, MPI_FLOAT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, &status);
  }
  MPI_Type_free(&four);
  MPI_Type_free(&column);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sent", sent[3]);
  MPI_Finalize();
  return 0;
}
