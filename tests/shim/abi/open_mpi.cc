// SPDX-License-Identifier: Apache-2.0
#define VENDOR_FLAVOR ::rollcall::ring::Flavor::kOpenMpi
#include <dlfcn.h>

#include "tests/shim/abi/abi_check.h"

namespace abi::vendor {

// Open MPI's handles are addresses of exported objects. Checks that the names that library.cc looks
// up give the addresses that the macros of mpi.h give.
static void CompareObjects() {
  const auto object = [](const char* name, const void* theirs) {
    Expect(name, reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, name)),
           reinterpret_cast<uint64_t>(theirs));
  };
  object("ompi_request_null", MPI_REQUEST_NULL);
  object("ompi_mpi_comm_null", MPI_COMM_NULL);
  object("ompi_mpi_datatype_null", MPI_DATATYPE_NULL);
  object("ompi_message_null", MPI_MESSAGE_NULL);
  object("ompi_message_no_proc", MPI_MESSAGE_NO_PROC);
  object("ompi_mpi_win_null", MPI_WIN_NULL);
  object("ompi_mpi_group_null", MPI_GROUP_NULL);
  object("ompi_mpi_group_empty", MPI_GROUP_EMPTY);
  object("ompi_mpi_comm_world", MPI_COMM_WORLD);
  if (dlsym(RTLD_DEFAULT, "ompi_request_empty") == nullptr) Expect("ompi_request_empty", 1, 0);
  const struct {
    rollcall::ReduceOp op;
    MPI_Op handle;
  } kOps[] = {
      {rollcall::ReduceOp::kMax, MPI_MAX},         {rollcall::ReduceOp::kMin, MPI_MIN},
      {rollcall::ReduceOp::kSum, MPI_SUM},         {rollcall::ReduceOp::kProd, MPI_PROD},
      {rollcall::ReduceOp::kLand, MPI_LAND},       {rollcall::ReduceOp::kBand, MPI_BAND},
      {rollcall::ReduceOp::kLor, MPI_LOR},         {rollcall::ReduceOp::kBor, MPI_BOR},
      {rollcall::ReduceOp::kLxor, MPI_LXOR},       {rollcall::ReduceOp::kBxor, MPI_BXOR},
      {rollcall::ReduceOp::kMinloc, MPI_MINLOC},   {rollcall::ReduceOp::kMaxloc, MPI_MAXLOC},
      {rollcall::ReduceOp::kReplace, MPI_REPLACE}, {rollcall::ReduceOp::kNoOp, MPI_NO_OP},
      {rollcall::ReduceOp::kNull, MPI_OP_NULL}};
  for (const shim::ReduceName& name : shim::kReduceNames) {
    for (const auto& theirs : kOps) {
      if (theirs.op == name.op) object(name.open_mpi, theirs.handle);
    }
  }
}

}  // namespace abi::vendor

int main() {
  abi::vendor::CompareFunctions();
  abi::vendor::CompareConstants();
  abi::vendor::CompareObjects();
  return abi::vendor::Finish("Open MPI");
}
