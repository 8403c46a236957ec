// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/group.h"

#include "shim/nccl/driver.h"
#include "shim/nccl/progress.h"

namespace rollcall::shim::nccl {
namespace {

constexpr uint32_t kMaxThreads = 64;  // the maximum number of thread logs
constinit Group g_groups[kMaxThreads];
thread_local uint32_t t_unrecorded = 0;

}  // namespace

void CountUnrecordedGroup(int change) {
  if (change > 0) {
    ++t_unrecorded;
  } else if (t_unrecorded > 0) {
    --t_unrecorded;
  }
}

Group& Group::Of(ThreadLog* log) {
  Group& group = g_groups[log->index];
  if (group.incarnation_ != log->entry->incarnation) {  // its thread ended within a group
    group.depth_ = group.operations_ = group.slot_count_ = group.pending_count_ = 0;
    group.asynchronous_count_ = 0;
    group.incarnation_ = log->entry->incarnation;
  }
  if (__builtin_expect(t_unrecorded != 0, 0)) group.AdoptUnrecorded(log);
  return group;
}

// Opens groups that were started before recording began; their call path is unknown.
void Group::AdoptUnrecorded(ThreadLog* log) {
  const uint32_t depth = t_unrecorded;
  t_unrecorded = 0;
  for (uint32_t i = 0; i < depth; ++i) Start(log, 0);
}

void Group::Publish(ThreadLog* log) const {
  constexpr uint64_t kOneDeep = uint64_t{1} << 32;
  StoreRelease(&log->entry->nccl_group, depth_ * kOneDeep | operations_);
}

void Group::Start(ThreadLog* log, uint32_t call_path) {
  if (depth_++ == 0) {
    launch_ = NextLaunch();
    operations_ = slot_count_ = pending_count_ = asynchronous_count_ = 0;
    asked_stream_ = 0;
    captured_ = alone_ = false;
    StoreRelaxed(&log->entry->nccl_group_path, uint64_t{call_path});
  }
  Publish(log);
}

bool Group::End(ThreadLog* log, bool launches) {
  if (depth_ == 0) return false;
  --depth_;
  if (depth_ == 0) {
    // Must precede publishing the depth: a reader takes an operation for rejected if it is in no
    // open group and was not launched.
    for (uint32_t i = 0; launches && i < slot_count_; ++i) MarkEnqueued(slots_[i], launch_);
    operations_ = 0;
  }
  Publish(log);
  return depth_ == 0;
}

bool Group::IsCaptured(uint64_t stream) {
  if (stream == asked_stream_) return captured_;
  asked_stream_ = stream;
  return captured_ = nccl::IsCaptured(stream);
}

void Group::AddOperation(ThreadLog* log, uint32_t slot) {
  ++operations_;
  bool known = slot == kNoSlot;
  for (uint32_t i = 0; i < slot_count_; ++i) known |= slots_[i] == slot;
  // If the group has more streams than slots, an operation counts as launched before the group's
  // end. That is better than never.
  if (!known && slot_count_ == kMaxSlots) MarkEnqueued(slot, launch_);
  if (!known && slot_count_ < kMaxSlots) slots_[slot_count_++] = slot;
  Publish(log);
}

// If there is no room, the communicator's operations count as launched at the group's end.
void Group::AddAsynchronous(uint32_t uid) {
  for (uint32_t i = 0; i < asynchronous_count_; ++i) {
    if (asynchronous_[i] == uid) return;
  }
  if (asynchronous_count_ < kMaxAsynchronous) asynchronous_[asynchronous_count_++] = uid;
}

bool Group::AddPending(const Pending& pending) {
  if (pending_count_ == kMaxPending) return false;
  pending_[pending_count_++] = pending;
  return true;
}

}  // namespace rollcall::shim::nccl
