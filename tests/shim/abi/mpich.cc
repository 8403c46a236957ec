// SPDX-License-Identifier: Apache-2.0
#define VENDOR_FLAVOR ::rollcall::ring::Flavor::kMpich
#include "tests/shim/abi/abi_check.h"

namespace abi::vendor {

static void CompareHandles() {
  const shim::Abi& abi = shim::AbiOf(VENDOR_FLAVOR);
  Expect("MPI_COMM_NULL", abi.comm_null, HandleWord(MPI_COMM_NULL));
  Expect("MPI_COMM_WORLD", abi.world, HandleWord(MPI_COMM_WORLD));
  Expect("MPI_COMM_SELF", abi.self, HandleWord(MPI_COMM_SELF));
  Expect("MPI_REQUEST_NULL", abi.request_null, HandleWord(MPI_REQUEST_NULL));
  Expect("MPI_DATATYPE_NULL", abi.datatype_null, HandleWord(MPI_DATATYPE_NULL));
  Expect("MPI_MESSAGE_NULL", abi.message_null, HandleWord(MPI_MESSAGE_NULL));
  Expect("MPI_MESSAGE_NO_PROC", abi.message_no_proc, HandleWord(MPI_MESSAGE_NO_PROC));
  Expect("MPI_WIN_NULL", abi.win_null, HandleWord(MPI_WIN_NULL));
  Expect("MPI_GROUP_NULL", abi.group_null, HandleWord(MPI_GROUP_NULL));
  Expect("MPI_GROUP_EMPTY", abi.group_empty, HandleWord(MPI_GROUP_EMPTY));
  Expect("MPI_FILE_NULL", 0, HandleWord(MPI_FILE_NULL));
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
      if (theirs.op == name.op) Expect(name.open_mpi, name.mpich, HandleWord(theirs.handle));
    }
  }
}

}  // namespace abi::vendor

int main() {
  abi::vendor::CompareFunctions();
  abi::vendor::CompareConstants();
  abi::vendor::CompareHandles();
  return abi::vendor::Finish("MPICH");
}
