// What looks like a leak and is none: a group that two places ask for and each frees, empty groups
// that are predefined, a datatype that is reached again by its contents, a communicator, a datatype
// and an operation that a callback frees inside MPI_Finalize, and what the library makes for itself
// to read a file.
//
// rollcall-test: ranks=2 check=
// expect: none
#include "tests/faults/fault.h"

static MPI_Datatype kept_type = MPI_DATATYPE_NULL;
static MPI_Op kept_op = MPI_OP_NULL;
static MPI_Comm kept_comm = MPI_COMM_NULL;

static void Smaller(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    if (((int*)in)[i] < ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
  }
}

static int AtTheEnd(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  MPI_Type_free(&kept_type);
  MPI_Op_free(&kept_op);
  return MPI_Comm_free(&kept_comm);
}

static void Groups(void) {
  MPI_Group first, second, empty, none;
  MPI_Comm_group(MPI_COMM_WORLD, &first);
  MPI_Comm_group(MPI_COMM_WORLD, &second);
  MPI_Group_free(&first);
  MPI_Group_incl(second, 0, NULL, &empty);
  MPI_Group_difference(second, second, &none);
  MPI_Group_free(&second);
}

static void Contents(void) {
  MPI_Datatype row, block, inner;
  MPI_Type_contiguous(3, MPI_INT, &row);
  MPI_Type_vector(2, 1, 2, row, &block);
  MPI_Type_free(&row);
  int integers[3];
  MPI_Type_get_contents(block, 3, 0, 1, integers, NULL, &inner);
  MPI_Type_free(&inner);
  MPI_Type_dup(block, &inner);
  MPI_Type_free(&block);
  MPI_Type_free(&inner);
}

static void Files(int rank) {
  MPI_Datatype view, memory;
  MPI_Type_vector(4, 1, 2, MPI_INT, &view);
  MPI_Type_contiguous(4, MPI_INT, &memory);
  MPI_Type_commit(&view);
  MPI_Type_commit(&memory);
  char name[] = "/tmp/rollcall-handles-XXXXXX";
  if (rank == 0) close(mkstemp(name));
  MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL);
  int data[4] = {rank, 1, 2, 3};
  MPI_File_write(file, data, 1, memory, MPI_STATUS_IGNORE);
  MPI_File_write_at(file, 4, data, 1, memory, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 4, data, 1, memory, MPI_STATUS_IGNORE);
  MPI_Type_free(&view);
  MPI_File_write_all(file, data, 1, memory, MPI_STATUS_IGNORE);
  MPI_Type_free(&memory);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, AtTheEnd, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &kept_type);
  MPI_Op_create(Smaller, 1, &kept_op);
  MPI_Comm_dup(MPI_COMM_WORLD, &kept_comm);
  Groups();
  Contents();
  Files(rank);
  int least = 0;
  MPI_Allreduce(&rank, &least, 1, MPI_INT, kept_op, kept_comm);
  Report("least", least);
  MPI_Finalize();
  return 0;
}
