// What the wrappers of c10d's functions (wrappers.cc) record: groups, operations, and where the
// host waits for them. The rules of shim/call.h hold.
#ifndef ROLLCALL_SHIM_TORCH_CALL_H_
#define ROLLCALL_SHIM_TORCH_CALL_H_

#include <cstdint>

#include "shim/call.h"
#include "shim/torch/arguments.h"
#include "shim/torch/groups.h"

namespace rollcall::shim::torch {

// An operation of a backend. It is numbered at entry; its request is the Work that is made inside
// (WorkMade).
void BeginOperation(Call* call, const Arguments& arguments);
void EndOperation(Call* call);

// A Work was constructed at `work`, in the constructor's frame `frame`. If that happened inside an
// operation of this thread, the Work is its request from now on: before a worker of the backend can
// complete it.
void WorkMade(const void* work, CallerFrame frame);
// The Work is complete, or failed: then its request stays open. Any thread, also one without a log.
void WorkDone(const void* work, bool failed);
// The Work is destroyed: nobody will wait for it.
void WorkGone(const void* work);

// The host waits for a Work; not recorded if it is complete.
void BeginWait(Call* call, const void* work);
void EndWait(Call* call);

// DDP's reducer enqueues the all_reduce of a bucket, and waits for all of them at the end of a
// backward pass. The operations that are made between Enter and Leave are a reducer's.
// A backward pass begins with a call of PrepareForBackward, unless it is not to reduce (no_sync).
void PrepareForBackward(const void* reducer);
void EnterReducer(const void* reducer);
void LeaveReducer();
void BeginReducerWait(Call* call, const void* reducer);
void EndReducerWait(Call* call, const void* reducer);

// A rank connects to the store where the ranks meet, at `host` and `port`: the first store that its
// process makes is that one. `host`: not terminated.
struct Rendezvous {
  const char* host;
  uint64_t host_length;
  uint16_t port;
};
// The phase stays kStarting: whether the backend's calls are recorded is not known yet.
void BeginRendezvous(Call* call, const Rendezvous& rendezvous);
void EndRendezvous(Call* call);

// The main thread waits until a store has a key; other threads of PyTorch wait for what never
// comes.
struct StoreKeyView {
  const char* text;
  uint64_t length;
};
void BeginStoreWait(Call* call, const StoreKeyView& key);
void EndStoreWait(Call* call);

// A backend is constructed at `backend`: its group exists from then on.
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
