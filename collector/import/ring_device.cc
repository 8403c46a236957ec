// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collector/import/ring_parts.h"

namespace rollcall {
namespace {

constexpr uint64_t kUnseenStreams = uint64_t{0xc10d} << 48;

bool IsUnseen(const DeviceCall& call) { return call.stream >> 48 == kUnseenStreams >> 48; }

}  // namespace

RingDevice::RingDevice(RingContext* context, std::vector<DeviceCall>* calls,
                       std::vector<HostWait>* waits)
    : context_(*context), calls_(*calls), waits_(*waits), first_(calls->size()) {
  for (const ring::Member& member : context->ring.members) {
    const bool stopped = (member.flags & ring::kIsNccl) != 0 && member.stopped_launch != 0;
    if (stopped) stopped_.emplace(member.uid, member.stopped_launch);
  }
  for (const ring::GpuProgress& entry : context->ring.gpu) {
    progress_.emplace(Stream(entry.member, entry.stream), &entry);
  }
  for (const ring::Mark& mark : context->ring.marks) ReadMark(mark);
}

void RingDevice::ReadMark(const ring::Mark& mark) {
  if (mark.member == 0) return;
  Marked& marked = marked_[{mark.member, mark.stream}];
  if (mark.written == mark.number) {
    marked.completed = std::max(marked.completed, mark.launch);
  } else {
    marked.outstanding.insert(mark.launch);
  }
}

// A collective is on one stream with the member's other collectives. A message is not: NCCL gives
// messages communicators and streams of their own, one for each pair, unless they are batched.
uint64_t RingDevice::UnseenStream(const ring::Record& record) {
  if (record.sequence != 0) return kUnseenStreams | record.member;
  const auto peer = static_cast<uint16_t>(record.root_or_peer + 1);
  return kUnseenStreams | uint64_t{peer} << 32 | record.member;
}

void RingDevice::AddCall(const RingCall& call) {
  context_.process.device = true;
  DeviceCall work;
  work.process = context_.index;
  work.launch = call.launch;
  work.stream = call.stream;
  work.event = call.event;
  const Thread& thread = context_.process.threads[call.event.thread];
  const auto found = progress_.find({call.enqueued_by, call.stream});
  const ring::GpuProgress* progress = found == progress_.end() ? nullptr : found->second;
  const bool launched = progress != nullptr && call.launch <= progress->enqueued;
  if (launched) {
    const Marked& marked = marked_[{call.enqueued_by, call.stream}];
    work.done = call.launch <= std::max(progress->completed, marked.completed);
    work.exact = marked.outstanding.contains(call.launch) || progress->started == call.launch;
  } else if (call.enqueued_by == 0) {
    // A call of a process group whose NCCL calls are not seen: complete when all members have made
    // it.
  } else if (thread.group.depth != 0) {
    work.held = true;
  } else {
    work.done = call.end_ticks != 0;  // if it has ended, it was refused and is on no stream
  }
  const auto stopped = stopped_.find(call.enqueued_by);
  work.stopped = !work.done && stopped != stopped_.end() && call.launch <= stopped->second;
  context_.trace.members[call.event.member].stopped |= work.stopped;
  calls_.push_back(work);
}

void RingDevice::AddHostWait(const ring::Record& record, uint32_t thread) {
  if (FindOperation(record.operation).kind != Kind::kHostWait || record.detail == 0) return;
  const auto operation = static_cast<Operation>(record.operation);
  HostWait wait;
  wait.process = context_.index;
  wait.stream = record.detail2;
  wait.any_stream =
      operation == Operation::kcudaDeviceSynchronize || operation == Operation::kcuCtxSynchronize;
  wait.launch = record.detail;
  wait.thread = thread;
  waits_.push_back(wait);
}

void RingDevice::AddHostWait(uint64_t request, uint32_t thread) {
  awaited_.emplace(request, thread);
}

// NCCL's launches have numbers. Calls of process groups without a recorded launch have no numbers.
// They get numbers between those of the launches, by time.
void RingDevice::NumberUnseen() {
  const std::span<DeviceCall> calls = std::span(calls_).subspan(first_);
  if (std::ranges::none_of(calls, IsUnseen)) return;
  constexpr int kPlaceBits = 24;
  std::vector<DeviceCall*> by_time;
  for (DeviceCall& call : calls) by_time.push_back(&call);
  std::ranges::stable_sort(by_time, [](const DeviceCall* a, const DeviceCall* b) {
    return a->event.start_ns < b->event.start_ns;
  });
  uint64_t last = 0;
  uint64_t place = 0;
  for (DeviceCall* call : by_time) {
    if (IsUnseen(*call)) {
      call->launch = last + std::min(++place, (uint64_t{1} << kPlaceBits) - 1);
    } else {
      call->launch <<= kPlaceBits;
      if (call->launch > last) place = 0;
      last = std::max(last, call->launch);
    }
  }
  for (HostWait& wait : waits_) {
    if (wait.process == context_.index) wait.launch <<= kPlaceBits;
  }
}

void RingDevice::Finish() {
  NumberUnseen();
  for (size_t i = awaited_.empty() ? calls_.size() : first_; i < calls_.size(); ++i) {
    const DeviceCall& call = calls_[i];
    // NCCL's calls have numbers of their own.
    if (!IsC10dOnDevice(context_.OperationOf(call.event))) continue;
    const auto found = awaited_.find(call.event.request);
    if (found == awaited_.end()) continue;
    HostWait wait;
    wait.process = context_.index;
    wait.stream = call.stream;
    wait.launch = call.launch;
    wait.thread = found->second;
    waits_.push_back(wait);
  }
}

}  // namespace rollcall
