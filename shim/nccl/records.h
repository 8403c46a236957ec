// SPDX-License-Identifier: Apache-2.0
// The fields of an NCCL operation's record that describe its data.
#ifndef ROLLCALL_SHIM_NCCL_RECORDS_H_
#define ROLLCALL_SHIM_NCCL_RECORDS_H_

#include "proto/operations.h"
#include "proto/ring_format.h"
#include "shim/nccl/arguments.h"

namespace rollcall::shim::nccl {

// Sets count, datatype, reduction, root or peer, and the hash of the arguments that must agree.
void FillRecord(const OperationInfo& info, const Arguments& arguments, ring::Record* record);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_RECORDS_H_
