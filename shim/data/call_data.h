// Reads the data of collectives: the input when the call is entered, the result when it is
// complete. Used only if the user asked for it (g_process.data): docs/data.md.
//
// Not read: intercommunicators, neighborhood collectives, communicators of one process, data that
// the standard says is not significant, and what MayRead() and type maps exclude.
//
// Any thread, within the bracket of a call (call.h). No allocation but at a datatype's first sight;
// no communication; waits for no other thread. Keeps errno.
#ifndef ROLLCALL_SHIM_DATA_CALL_DATA_H_
#define ROLLCALL_SHIM_DATA_CALL_DATA_H_

#include <cstdint>

#include "shim/arguments.h"
#include "shim/call.h"
#include "shim/requests.h"

namespace rollcall::shim::data {

// A collective is entered; its record is complete.
void BeginCall(Call* call, const Arguments& arguments);
// A blocking one returned without an error.
void EndCall(const Call& call, const Arguments& arguments);
// One was rejected, or failed: its result is not read.
void FailCall(const Call& call);

// The call returned this request (kNoRequest: none, see `handle`), nonblocking or persistent.
void EnterRequest(const Call& call, const Arguments& arguments, uint32_t slot, uint64_t handle);
// A persistent collective is started, for the n-th time. `record` is the start's.
void StartRequest(uint32_t slot, uint64_t start, const ring::Record& record);
// The operation is complete.
void CompleteRequest(uint32_t slot, bool failed);

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_CALL_DATA_H_
