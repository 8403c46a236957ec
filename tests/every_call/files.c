// SPDX-License-Identifier: Apache-2.0
// Every function of files that is collective or makes a request, plain and with large counts.
#include "tests/every_call/every_call.h"

enum { kInts = 3 };

static MPI_File file;
static int rank;
static int data[kInts];
static MPI_Request request = MPI_REQUEST_NULL;

// What is written is read again by the next call of the same kind.
static int* Out(void) {
  for (int i = 0; i < kInts; ++i) data[i] = 100 * rank + i;
  return data;
}
static int* In(void) {
  memset(data, 0, sizeof(data));
  return data;
}
static void Seen(void) { Observe(data, sizeof(data)); }

// Nobody reads what another one still writes, or by a pointer that is still to be moved.
static void Rewind(void) {
  DO(MPI_File_sync, file);
  DO(MPI_Barrier, MPI_COMM_WORLD);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  DO(MPI_File_seek_shared, file, 0, MPI_SEEK_SET);
  DO(MPI_Barrier, MPI_COMM_WORLD);
}

#define WHOLE kInts, MPI_INT
// Room for two transfers one after the other, which no other rank touches meanwhile.
#define MINE ((MPI_Offset)rank * 2 * kInts * (MPI_Offset)sizeof(int))
#define DONE MPI_STATUS_IGNORE
#define WAIT()                               \
  DO(MPI_Wait, &request, MPI_STATUS_IGNORE); \
  Seen()

int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  rank = WorldRank();
  const char* directory = getenv("EVERY_CALL_DIR");
  char path[4096];
  snprintf(path, sizeof(path), "%s/data", directory != NULL ? directory : "/tmp");
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  DO(MPI_File_open, MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
  DO(MPI_File_preallocate, file, 1024);
  DO(MPI_File_set_size, file, 2048);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  DO(MPI_File_set_info, file, info);
  MPI_Info_free(&info);
  DO(MPI_File_set_atomicity, file, 0);
  DO(MPI_File_set_view, file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
#define NAME(name) name
#include "tests/every_call/file_transfers.h"
#undef NAME
#if MPI_VERSION >= 4
#define NAME(name) name##_c
#include "tests/every_call/file_transfers.h"
#endif
  DO(MPI_File_sync, file);
  DO(MPI_File_close, &file);
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
