// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/ring_sample.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>

#include "collector/base/byte_source.h"
#include "collector/base/clock.h"
#include "collector/base/text.h"
#include "collector/import/communicator_name.h"
#include "collector/import/ring_elements.h"
#include "collector/import/ring_reader.h"
#include "collector/import/ring_tables.h"

namespace rollcall::agent {
namespace {

using ring::SectionKind;

constexpr size_t kMaxNameBytes = 64;

// The rate of the time-stamp counter is derived from this node's own clock because the header's
// second anchor may still equal the first.
int64_t MonotonicOf(const ring::FileHeader& header, uint64_t ticks) {
  if (header.clock == static_cast<uint64_t>(ring::Clock::kMonotonicNs)) {
    return static_cast<int64_t>(ticks);
  }
  const int64_t now_ns = Now(CLOCK_MONOTONIC);
#if defined(__x86_64__)
  const uint64_t now_ticks = __builtin_ia32_rdtsc();
  const double span_ticks = static_cast<double>(now_ticks - header.first_anchor.ticks);
  const double span_ns =
      static_cast<double>(now_ns - static_cast<int64_t>(header.first_anchor.monotonic_ns));
  if (span_ticks > 0 && span_ns > 0 && ticks <= now_ticks) {
    return now_ns -
           static_cast<int64_t>(static_cast<double>(now_ticks - ticks) * span_ns / span_ticks);
  }
#endif
  return now_ns;
}

void ReadHeader(const ring::FileHeader& header, RingSample* out) {
  out->id = RingId(header);
  out->pid = header.pid;
  out->process_start_ticks = header.process_start_ticks;
  out->pid_namespace = header.pid_namespace;
  out->job_key = header.job_key;
  out->world_rank = header.world_rank;
  out->world_size = header.world_size;
  out->thread_level = header.thread_level;
  out->threads_unrecorded = header.threads_unrecorded;
  out->phase = static_cast<ring::Phase>(header.phase);
  out->exit_mark = static_cast<ring::ExitMark>(header.exit_mark);
  out->exit_status = static_cast<int32_t>(header.exit_status);
  out->host = header.host;
}

void ReadThread(const ring::FileHeader& header, const ring::ThreadEntry& thread, RingSample* out) {
  if (!IsInUse(thread)) return;
  out->polls += thread.polls;
  if (thread.state != static_cast<uint32_t>(ring::ThreadState::kLive)) return;
  out->callers.push_back(thread.tid);
  if (thread.depth == 0) {
    // Fields that are being written belong to the next sample.
    if (!LastCallPolled(thread)) return;
    const uint16_t inside = header.version_minor < 6 ? 0 : thread.polling.inside;
    out->polling.push_back({.tid = thread.tid,
                            .streak = thread.polling.since_ticks,
                            .polls = thread.polls,
                            .inside_share = ring::DecodeShare(inside)});
    return;
  }
  const ring::Record& record = thread.open[0].record;
  if (!HoldsCall(record) || IsBeingWritten(record.lock)) return;
  out->blocked.push_back({.operation = record.operation,
                          .tid = thread.tid,
                          .member = record.member,
                          .key = 0,
                          .sequence = record.sequence,
                          .since_monotonic_ns = MonotonicOf(header, record.start_ticks)});
}

// A checkpoint may be written while it is read. Its hash is then wrong, and the collector suspects
// a difference that the rings do not confirm.
void ReadData(const ring::DataMember& data, uint32_t uid, MemberSample* sample) {
  if (data.uid != uid || IsBeingWritten(data.lock)) return;
  sample->non_finite_input = data.input.sequence;
  sample->non_finite_result = data.result.sequence;
  for (const ring::DataCheckpoint& checkpoint : data.recent) {
    const Mark mark{checkpoint.results, checkpoint.hash};
    if (mark.sequence == 0) continue;
    if (std::ranges::find(sample->results, mark) == sample->results.end()) {
      sample->results.push_back(mark);
    }
  }
}

// Whether a mark or NCCL's kernel events show a device whose work is not complete.
bool DeviceWorks(const RingImage& image) {
  const ImageTable& marks = image.table(SectionKind::kMarks);
  for (uint64_t i = 0; i < marks.size(); ++i) {
    const auto mark = marks.Get<ring::Mark>(i);
    if (mark.member != 0 && mark.written != mark.number) return true;
  }
  const ImageTable& gpu = image.table(SectionKind::kGpuProgress);
  for (uint64_t i = 0; i < gpu.size(); ++i) {
    const auto progress = gpu.Get<ring::GpuProgress>(i);
    if (IsInUse(progress) && progress.started > progress.completed) return true;
  }
  return false;
}

}  // namespace

std::string RingSampler::NameOf(const ring::Member& member, RingTables* tables,
                                const RingImage& image) {
  const auto [known, is_new] = names_.try_emplace(member.name);
  if (is_new && member.name != 0) {
    const ImageTable& strings = image.table(SectionKind::kStrings);
    if (strings.bytes.empty()) tables->Read(SectionKind::kStrings);
    known->second = CleanText(StringAt(strings.bytes, member.name), kMaxNameBytes);
  }
  return NameOfCommunicator(member.flags, static_cast<Operation>(member.creating_operation),
                            known->second);
}

void RingSampler::ReadMembers(RingTables* tables, const RingImage& image) {
  const ImageTable& table = image.table(SectionKind::kMembers);
  const ImageTable& data = image.table(SectionKind::kDataMembers);
  members_.clear();
  member_uids_.clear();
  for (uint64_t i = 0; i < table.size(); ++i) {
    const auto entry = table.Get<ring::Member>(i);
    if (IsBeingWritten(entry.lock) ||
        entry.state != static_cast<uint32_t>(ring::MemberState::kLive)) {
      continue;
    }
    MemberSample sample;
    sample.key = entry.key;
    sample.name = NameOf(entry, tables, image);
    sample.rank = entry.rank;
    sample.size = entry.size;
    sample.entered = entry.entered;
    sample.completed = entry.completed;
    sample.concurrent = (entry.flags & (ring::kSawConcurrency | ring::kWeakIdentity)) != 0;
    for (const ring::Checkpoint& checkpoint : entry.recent) {
      // The checkpoint was written while it was read; the other marks are sufficient.
      if (!IsWhole(checkpoint, entry)) continue;
      sample.marks.push_back({checkpoint.sequence, checkpoint.semantic_hash});
    }
    std::ranges::sort(sample.marks, std::ranges::greater{}, &Mark::sequence);
    sample.marks.erase(std::unique(sample.marks.begin(), sample.marks.end()), sample.marks.end());
    if (i < data.size()) ReadData(data.Get<ring::DataMember>(i), entry.uid, &sample);
    members_.push_back(std::move(sample));
    member_uids_.push_back(entry.uid);
  }
}

bool RingSampler::Sample(RingSample* out) {
  *out = RingSample();
  struct stat status;
  if (fstat(fd_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    problem_ = "not a regular file";
    return false;
  }
  if (static_cast<uint64_t>(status.st_size) < sizeof(ring::FileHeader)) {
    problem_ = "shorter than a ring's header";
    return false;
  }
  FileSource source(fd_.get());
  RingImage image;
  RingTables tables(&source, &image);
  if (!tables.Open()) {
    problem_ = image.problems.front().message;
    return false;
  }
  ReadHeader(image.header, out);
  for (const SectionKind kind :
       {SectionKind::kThreads, SectionKind::kMarks, SectionKind::kGpuProgress}) {
    tables.Read(kind);
  }
  out->activity = RingActivity(image);
  const ImageTable& threads = image.table(SectionKind::kThreads);
  for (uint64_t i = 0; i < threads.size(); ++i) {
    ReadThread(image.header, threads.Get<ring::ThreadEntry>(i), out);
  }
  out->device_works = DeviceWorks(image);
  // A member's fields are written after its thread's fields. The members are therefore read once
  // more after the last movement.
  const bool moved = !sampled_ || out->activity != last_activity_;
  if (moved || moved_before_) {
    tables.Read(SectionKind::kMembers);
    tables.Read(SectionKind::kDataMembers);
    ReadMembers(&tables, image);
  }
  moved_before_ = moved;
  sampled_ = true;
  last_activity_ = out->activity;
  out->members = members_;
  for (BlockedSample& blocked : out->blocked) {
    for (size_t i = 0; i < member_uids_.size(); ++i) {
      if (member_uids_[i] == blocked.member) blocked.key = members_[i].key;
    }
  }
  return true;
}

}  // namespace rollcall::agent
