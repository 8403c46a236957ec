#include <algorithm>

#include "collector/import/ring_parts.h"

namespace rollcall {

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

void RingDevice::AddCall(const RingCall& call) {
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
    // Of a process group, and how NCCL carries it out is not seen: complete when all have made it.
  } else if (thread.group.depth != 0) {
    work.held = true;
  } else {
    work.done = call.end_ticks != 0;  // refused if it has ended: it is on no stream
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

void RingDevice::Finish() {
  for (size_t i = awaited_.empty() ? calls_.size() : first_; i < calls_.size(); ++i) {
    const DeviceCall& call = calls_[i];
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
