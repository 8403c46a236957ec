#include "collector/agent/ring_sample.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collector/base/clock.h"
#include "collector/import/ring_reader.h"

namespace rollcall::agent {
namespace {

// More than any process has; a damaged header must not cost gigabytes.
constexpr uint64_t kMaxThreads = 4096;
constexpr uint64_t kMaxParticipants = 65536;
constexpr uint64_t kMaxMarks = 65536;

bool PreadAll(int fd, void* to, size_t bytes, uint64_t offset) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = pread(fd, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

std::string Text(const char* field, size_t bytes) { return {field, strnlen(field, bytes)}; }

// An element of a table as raw bytes; the stride may be larger than what this version knows.
template <typename T>
T ElementAt(const std::vector<char>& table, uint64_t stride, uint64_t index) {
  T element;
  memcpy(&element, table.data() + index * stride, sizeof(T));
  return element;
}

}  // namespace

RingSampler::RingSampler(int fd) : fd_(fd) {}

RingSampler::~RingSampler() { close(fd_); }

bool RingSampler::ReadHeader() {
  struct stat status;
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    problem_ = "not a regular file";
    return false;
  }
  file_bytes_ = static_cast<uint64_t>(status.st_size);
  if (file_bytes_ < sizeof(ring::FileHeader) || !PreadAll(fd_, &header_, sizeof(header_), 0)) {
    problem_ = "shorter than a ring's header";
    return false;
  }
  if (memcmp(header_.magic, ring::kMagic, sizeof(ring::kMagic)) != 0) {
    problem_ = "not a ring file";
    return false;
  }
  if (header_.byte_order != ring::kByteOrder) {
    problem_ = "written in another byte order";
    return false;
  }
  if (header_.version_major != ring::kVersionMajor) {
    problem_ = "ring format of another version";
    return false;
  }
  return true;
}

const ring::Section* RingSampler::FindSection(ring::SectionKind kind, uint64_t least_bytes,
                                              uint64_t* used) {
  const uint32_t count = std::min(header_.section_count, ring::kMaxSections);
  for (uint32_t i = 0; i < count; ++i) {
    const ring::Section& section = header_.sections[i];
    if (section.kind != static_cast<uint32_t>(kind)) continue;
    if (section.element_bytes < least_bytes || section.offset > file_bytes_) return nullptr;
    const uint64_t fit = (file_bytes_ - section.offset) / section.element_bytes;
    *used = std::min({section.used, section.capacity, fit});
    return &section;
  }
  return nullptr;
}

// The rate of a time-stamp counter comes from this node's own clock: the header's second anchor may
// still be the first.
int64_t RingSampler::MonotonicOf(uint64_t ticks) const {
  if (header_.clock == static_cast<uint64_t>(ring::Clock::kMonotonicNs)) {
    return static_cast<int64_t>(ticks);
  }
  const int64_t now_ns = Now(CLOCK_MONOTONIC);
#if defined(__x86_64__)
  const uint64_t now_ticks = __builtin_ia32_rdtsc();
  const double span_ticks = static_cast<double>(now_ticks - header_.first_anchor.ticks);
  const double span_ns =
      static_cast<double>(now_ns - static_cast<int64_t>(header_.first_anchor.monotonic_ns));
  if (span_ticks > 0 && span_ns > 0 && ticks <= now_ticks) {
    return now_ns -
           static_cast<int64_t>(static_cast<double>(now_ticks - ticks) * span_ns / span_ticks);
  }
#endif
  return now_ns;
}

void RingSampler::ReadThreads(RingSample* out) {
  uint64_t used = 0;
  const ring::Section* section =
      FindSection(ring::SectionKind::kThreads, sizeof(ring::ThreadEntry), &used);
  if (section == nullptr) return;
  used = std::min(used, kMaxThreads);
  buffer_.resize(used * section->element_bytes);
  if (!PreadAll(fd_, buffer_.data(), buffer_.size(), section->offset)) return;
  for (uint64_t i = 0; i < used; ++i) {
    const auto thread = ElementAt<ring::ThreadEntry>(buffer_, section->element_bytes, i);
    if (thread.state == static_cast<uint32_t>(ring::ThreadState::kFree)) continue;
    out->polls += thread.polls;
    out->activity += thread.ring_head[0] + thread.ring_head[1] + thread.calls_ended;
    if (thread.state != static_cast<uint32_t>(ring::ThreadState::kLive)) continue;
    out->callers.push_back(thread.tid);
    if (thread.depth == 0) {
      // Words that are being written are of the next sample.
      const bool polls = thread.polling.lock != 0 && thread.polling.lock % 2 == 0 &&
                         thread.polling.since_ticks >= thread.last_end_ticks &&
                         thread.polling.since_ticks != 0;
      if (polls) {
        const uint16_t inside = header_.version_minor < 6 ? 0 : thread.polling.inside;
        out->polling.push_back({.tid = thread.tid,
                                .streak = thread.polling.since_ticks,
                                .polls = thread.polls,
                                .inside_share = ring::DecodeShare(inside)});
      }
      continue;
    }
    const ring::Record& record = thread.open[0].record;
    if (record.operation == 0 || record.lock % 2 != 0) continue;
    out->blocked.push_back({.operation = record.operation,
                            .tid = thread.tid,
                            .participant = record.participant,
                            .key = 0,
                            .sequence = record.sequence,
                            .since_monotonic_ns = MonotonicOf(record.start_ticks)});
  }
}

void RingSampler::ReadMarks(RingSample* out) {
  uint64_t used = 0;
  const ring::Section* section = FindSection(ring::SectionKind::kMarks, sizeof(ring::Mark), &used);
  if (section == nullptr) return;
  used = std::min(used, kMaxMarks);
  buffer_.resize(used * section->element_bytes);
  if (!PreadAll(fd_, buffer_.data(), buffer_.size(), section->offset)) return;
  for (uint64_t i = 0; i < used; ++i) {
    const auto mark = ElementAt<ring::Mark>(buffer_, section->element_bytes, i);
    out->activity += mark.written;
    out->device_works |= mark.participant != 0 && mark.written != mark.number;
  }
}

// What NCCL's kernel events told.
void RingSampler::ReadGpuProgress(RingSample* out) {
  uint64_t used = 0;
  const ring::Section* section =
      FindSection(ring::SectionKind::kGpuProgress, sizeof(ring::GpuProgress), &used);
  if (section == nullptr) return;
  used = std::min(used, kMaxMarks);
  buffer_.resize(used * section->element_bytes);
  if (!PreadAll(fd_, buffer_.data(), buffer_.size(), section->offset)) return;
  for (uint64_t i = 0; i < used; ++i) {
    const auto progress = ElementAt<ring::GpuProgress>(buffer_, section->element_bytes, i);
    out->activity += progress.started;
    out->device_works |= progress.started > progress.completed;
  }
}

void RingSampler::ReadParticipants() {
  participants_.clear();
  participant_uids_.clear();
  uint64_t used = 0;
  const ring::Section* section =
      FindSection(ring::SectionKind::kParticipants, sizeof(ring::Participant), &used);
  if (section == nullptr) return;
  used = std::min(used, kMaxParticipants);
  buffer_.resize(used * section->element_bytes);
  if (!PreadAll(fd_, buffer_.data(), buffer_.size(), section->offset)) return;
  for (uint64_t i = 0; i < used; ++i) {
    const auto entry = ElementAt<ring::Participant>(buffer_, section->element_bytes, i);
    if (entry.lock % 2 != 0 ||
        entry.state != static_cast<uint32_t>(ring::ParticipantState::kLive)) {
      continue;
    }
    ParticipantSample sample;
    sample.key = entry.key;
    sample.rank = entry.rank;
    sample.size = entry.size;
    sample.entered = entry.entered;
    sample.completed = entry.completed;
    sample.concurrent = (entry.flags & (ring::kSawConcurrency | ring::kWeakIdentity)) != 0;
    for (const ring::Checkpoint& checkpoint : entry.recent) {
      // Written while it was read: the other marks say enough.
      if (checkpoint.sequence == 0 || checkpoint.sequence > entry.entered) continue;
      sample.marks.push_back({checkpoint.sequence, checkpoint.semantic_hash});
    }
    std::sort(sample.marks.begin(), sample.marks.end(),
              [](const Mark& a, const Mark& b) { return a.sequence > b.sequence; });
    sample.marks.erase(std::unique(sample.marks.begin(), sample.marks.end()), sample.marks.end());
    participants_.push_back(std::move(sample));
    participant_uids_.push_back(entry.uid);
  }
}

bool RingSampler::Sample(RingSample* out) {
  *out = RingSample();
  if (!ReadHeader()) return false;
  out->id = RingId(header_);
  out->pid = header_.pid;
  out->process_start_ticks = header_.process_start_ticks;
  out->job_key = header_.job_key;
  out->world_rank = header_.world_rank;
  out->world_size = header_.world_size;
  out->thread_level = header_.thread_level;
  out->threads_unrecorded = header_.threads_unrecorded;
  out->phase = static_cast<ring::Phase>(header_.phase);
  out->exit_mark = static_cast<ring::ExitMark>(header_.exit_mark);
  out->exit_status = static_cast<int32_t>(header_.exit_status);
  out->host = Text(header_.host, sizeof(header_.host));
  out->activity = header_.phase;
  ReadThreads(out);
  ReadMarks(out);
  ReadGpuProgress(out);
  // A participant's words are written after its thread's, so it is read once more when nothing
  // moves.
  const bool moved = !sampled_ || out->activity != last_activity_;
  if (moved || moved_before_) ReadParticipants();
  moved_before_ = moved;
  sampled_ = true;
  last_activity_ = out->activity;
  out->participants = participants_;
  for (BlockedSample& blocked : out->blocked) {
    for (size_t i = 0; i < participant_uids_.size(); ++i) {
      if (participant_uids_[i] == blocked.participant) blocked.key = participants_[i].key;
    }
  }
  return true;
}

}  // namespace rollcall::agent
