// SPDX-License-Identifier: Apache-2.0
// A thread's open NCCL group (ncclGroupStart without its end). Its calls are launched together when
// the outermost group ends, and communicators created in it exist only from then on.
#ifndef ROLLCALL_SHIM_NCCL_GROUP_H_
#define ROLLCALL_SHIM_NCCL_GROUP_H_

#include <cstdint>

#include "shim/comms.h"
#include "shim/thread_log.h"

namespace rollcall::shim::nccl {

// A communicator whose handle the library has not written yet. `comm` is null if the rank and size
// are not known yet either (a split); in that case `creation` and `colour` describe the
// communicator.
struct Pending {
  Comm* comm = nullptr;
  const void* handle_at = nullptr;
  const void* caller = nullptr;  // return address of the creating call: selects the NCCL to query
  Creation creation;
  int32_t colour = 0;
};

// Counts the open groups of a thread while the process is not recorded yet: the first communicators
// are often created in a group, which was opened before recording started. `change` is 1 or -1.
void CountUnrecordedGroup(int change);

class Group {
 public:
  // The calling thread's group; `log` is the thread's log.
  static Group& Of(ThreadLog* log);

  bool open() const { return depth_ != 0; }
  bool outermost() const { return depth_ == 1; }
  uint64_t launch() const { return launch_; }

  void Start(ThreadLog* log, uint32_t call_path);
  // Ends one level. Returns true if it was the outermost level: the group's operations are launched
  // then, unless `launches` is false (a simulated end).
  bool End(ThreadLog* log, bool launches);
  // `alone`: NCCL itself opened the group, around one operation.
  void SetAlone(bool alone) { alone_ = alone; }
  bool alone() const { return alone_; }
  // The slots of GpuProgress that the group's operations use. After the outermost end, they remain
  // available until the next start.
  uint32_t slot_count() const { return slot_count_; }
  uint32_t slot(uint32_t i) const { return slots_[i]; }

  // True if calls on this stream are captured into a CUDA graph. Queried once per group.
  bool IsCaptured(uint64_t stream);

  void AddOperation(ThreadLog* log, uint32_t slot);
  // Adds a communicator whose operations NCCL may launch after the group's end.
  void AddAsynchronous(uint32_t uid);
  static constexpr uint32_t kMaxAsynchronous = 16;
  uint32_t asynchronous_count() const { return asynchronous_count_; }
  uint32_t asynchronous(uint32_t i) const { return asynchronous_[i]; }
  // False if there is no room: the communicator then has no handle, and its calls are unknown.
  bool AddPending(const Pending& pending);

  static constexpr uint32_t kMaxPending = 64;
  uint32_t pending_count() const { return pending_count_; }
  const Pending& pending(uint32_t i) const { return pending_[i]; }
  void ClearPending() { pending_count_ = 0; }

 private:
  void Publish(ThreadLog* log) const;
  void AdoptUnrecorded(ThreadLog* log);

  static constexpr uint32_t kMaxSlots = 64;
  uint64_t incarnation_ = 0;  // incarnation of the thread's entry, which a later thread may reuse
  uint32_t depth_ = 0;
  uint32_t operations_ = 0;
  uint64_t launch_ = 0;
  uint64_t asked_stream_ = 0;
  bool captured_ = false;
  bool alone_ = false;
  uint32_t slot_count_ = 0;
  uint32_t pending_count_ = 0;
  uint32_t asynchronous_count_ = 0;
  uint32_t asynchronous_[kMaxAsynchronous] = {};  // uids
  uint32_t slots_[kMaxSlots] = {};
  Pending pending_[kMaxPending] = {};
};

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_GROUP_H_
