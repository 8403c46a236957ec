// SPDX-License-Identifier: Apache-2.0
// A collective write sends messages inside the MPI library. The plan counts those of the program.
//
// schedules-rule: ranks=3 follows=yes
// plan: bound 1000
// plan: first 0 1:1 before 2:1
#include <stdlib.h>
#include <unistd.h>

#include "tests/schedules/rules/rule.h"

enum { kInts = 4096 };

// Blocks of all ranks in turn, so that the library exchanges data before it writes.
static void Write(int rank) {
  static int data[kInts];
  char name[] = "/tmp/rollcall-rule-XXXXXX";
  if (rank == 0) close(mkstemp(name));
  MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Datatype blocks;
  MPI_Type_vector(kInts, 1, WorldSize(), MPI_INT, &blocks);
  MPI_Type_commit(&blocks);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY, info, &file);
  MPI_File_set_view(file, (MPI_Offset)sizeof(int) * rank, MPI_INT, blocks, "native", info);
  MPI_File_write_all(file, data, kInts, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Type_free(&blocks);
  MPI_Info_free(&info);
  if (rank == 0) unlink(name);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  Write(value);
  if (value == 0) {
    MPI_Status status;
    for (int i = 1; i < WorldSize(); ++i) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
      Require(i > 1 || status.MPI_SOURCE == 1, "the chosen message comes first");
    }
  } else {
    if (value == 1) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
