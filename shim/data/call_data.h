// SPDX-License-Identifier: Apache-2.0
// Reads the data of collectives: the input when the call is entered, the result when it is
// complete. Used only if the user asked for it (g_process.data): docs/data.md.
//
// Not read: the data of intercommunicators, neighborhood collectives and communicators of one
// process; data that is not significant by the standard; buffers that MayRead() or their type maps
// exclude.
//
// Any thread, within the bracket of a call (call.h). Allocates only when a datatype is seen for the
// first time. Does not communicate and waits for no other thread. Keeps errno.
#ifndef ROLLCALL_SHIM_DATA_CALL_DATA_H_
#define ROLLCALL_SHIM_DATA_CALL_DATA_H_

#include <cstdint>

#include "shim/arguments.h"
#include "shim/call.h"
#include "shim/requests.h"

namespace rollcall::shim::data {

// Call it when a collective was entered and its record is complete.
void BeginCall(Call* call, const Arguments& arguments);
// Call it when a blocking collective has returned without an error.
void EndCall(const Call& call, const Arguments& arguments);
// Call it when a collective was rejected or has failed: its result is not read.
void FailCall(const Call& call);

// Call it when a nonblocking or persistent collective has returned a request. `slot` is the
// request's slot. If it is kNoRequest, `handle` shows whether the request is complete.
void EnterRequest(const Call& call, const Arguments& arguments, uint32_t slot, uint64_t handle);
// A persistent collective is started for the `start`-th time. `record` is the record of the start.
void StartRequest(uint32_t slot, uint64_t start, const ring::Record& record);
// The operation is complete.
void CompleteRequest(uint32_t slot, bool failed);

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_CALL_DATA_H_
