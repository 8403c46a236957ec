// SPDX-License-Identifier: Apache-2.0
// The work of the wrappers of c10d's functions (wrappers.cc): they record groups, operations, and
// the calls in which the host waits for operations. The rules of shim/call.h apply.
#ifndef ROLLCALL_SHIM_TORCH_CALL_H_
#define ROLLCALL_SHIM_TORCH_CALL_H_

#include <cstdint>

#include "shim/call.h"
#include "shim/torch/arguments.h"
#include "shim/torch/groups.h"

namespace rollcall::shim::torch {

// An operation of a backend. It gets its number at entry. Its request is the Work that is
// constructed inside the operation (WorkMade).
void BeginOperation(Call* call, const Arguments& arguments);
void EndOperation(Call* call);

// A Work was constructed at `work`; `frame` is the constructor's frame. If this happened inside an
// operation of this thread, the Work becomes the operation's request. The request is entered here,
// before a worker of the backend can complete the Work.
void WorkMade(const void* work, CallerFrame frame);
// The Work is complete. If it has failed, its request stays open. Any thread, also a thread without
// a log.
void WorkDone(const void* work, bool failed);
// The Work is destroyed: no thread will wait for it.
void WorkGone(const void* work);

// The host waits for a Work. Not recorded if the Work is complete.
void BeginWait(Call* call, const void* work);
void EndWait(Call* call);

// DDP's reducer enqueues an all_reduce for each bucket, and waits for all of them at the end of a
// backward pass. Operations that are called between EnterReducer and LeaveReducer are the
// reducer's. A backward pass begins with a call of PrepareForBackward, unless it does not reduce
// (no_sync). Example of a pass with two buckets:
//
//   PrepareForBackward
//   EnterReducer   BeginOperation: all_reduce, bucket 1   LeaveReducer
//   EnterReducer   BeginOperation: all_reduce, bucket 2   LeaveReducer
//   BeginReducerWait   waits for both   EndReducerWait
void PrepareForBackward(const void* reducer);
void EnterReducer(const void* reducer);
void LeaveReducer();
void BeginReducerWait(Call* call, const void* reducer);
void EndReducerWait(Call* call, const void* reducer);

// A rank connects to the store where the ranks meet, at `host` (not NUL-terminated) and `port`. The
// first store that a process makes is taken for this store.
struct Rendezvous {
  const char* host;
  uint64_t host_length;
  uint16_t port;
};
// The phase stays kStarting, because it is not known yet whether the backend's calls are recorded.
void BeginRendezvous(Call* call, const Rendezvous& rendezvous);
void EndRendezvous(Call* call);

// The main thread waits until a store has a key. Waits of other threads are not recorded: threads
// of PyTorch wait for keys that are never set.
struct StoreKeyView {
  const char* text;
  uint64_t length;
};
void BeginStoreWait(Call* call, const StoreKeyView& key);
void EndStoreWait(Call* call);

// A backend is constructed at `backend`; its group exists afterwards.
struct NewGroup {
  const void* backend;
  GroupName name;
  int32_t rank;
  int32_t size;
  bool on_device = false;  // its operations are NCCL's
};
void BeginGroup(Call* call, const NewGroup& group);
void EndGroup(Call* call);
void GroupGone(const void* backend);

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_SHIM_TORCH_CALL_H_
