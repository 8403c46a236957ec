// SPDX-License-Identifier: Apache-2.0
// The agent's half of the protocol.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "collector/agent/agent.h"
#include "collector/base/clock.h"
#include "collector/import/ring_image.h"
#include "collector/rpc/protocol.h"

namespace rollcall::agent {
namespace {

// Size of a snapshot's chunks; well below gRPC's limit of 4 MiB per message.
constexpr size_t kChunkBytes = 1 << 20;
// Small chunks are sent together, up to this size plus one chunk.
constexpr size_t kBatchBytes = 1 << 18;
// In jobs of more ranks, agents report half as often.
constexpr int32_t kLargeJob = 8192;

// Period of clock requests; the first few are sent at once because the first answers are slow.
constexpr int64_t kClockPeriodNs = 10'000'000'000;
constexpr int kFirstClocks = 4;

// Limits what is written to a job's disk: a job that computes for long is examined again and again.
constexpr int64_t kCopyPeriodNs = 10'000'000'000;

// How long to wait for the ends of processes after the job is over.
constexpr int64_t kSettleNs = 1'000'000'000;

}  // namespace

void Agent::SendHello() {
  problems_sent_ = 0;
  for (const auto& process : processes_) {
    process->sent = false;
    process->event_sent = false;
    process->sent_members.clear();
  }
  rpc::AgentMessage message;
  rpc::Hello* hello = message.mutable_hello();
  hello->set_protocol(rpc::kProtocol);
  hello->set_host(options_.host);
  hello->set_pid(static_cast<uint32_t>(getpid()));
  hello->set_version(options_.version);
  hello->set_run_directory(options_.run_directory);
  hello->set_resumed(connections_made_++ > 0);
  hello->set_agent_id(id_);
  transport_->Send(connection_, std::move(message));
  journal_.Rewind();
  ReadJournalLines();
  next_heartbeat_ns_ = 0;
  next_clock_ns_ = 0;
  clock_answers_ = 0;
  clock_estimate_ = {};
}

void Agent::SendUpdates() {
  const uint64_t connection = transport_->connection();
  if (connection != connection_) {
    connection_ = connection;
    snapshots_.clear();
    if (connection != 0) SendHello();
  }
  for (const rpc::CollectorMessage& message : transport_->Receive()) Handle(message);
  if (connection_ == 0) return;
  SendProblems();
  SendState();
  PumpSnapshots();
  const int64_t now = Now(CLOCK_MONOTONIC);
  const bool asks_clock = now >= next_clock_ns_;
  if (asks_clock || now >= next_heartbeat_ns_) {
    next_heartbeat_ns_ = now + ReportPeriodNs();
    if (asks_clock) next_clock_ns_ = now + kClockPeriodNs;
    rpc::AgentMessage message;
    message.mutable_heartbeat()->set_realtime_ns(Now(CLOCK_REALTIME));
    message.mutable_heartbeat()->set_monotonic_ns(Now(CLOCK_MONOTONIC));
    message.mutable_heartbeat()->set_asks_clock(asks_clock);
    transport_->Send(connection_, std::move(message));
  }
}

void Agent::FillDigest(Process* process, rpc::ProcessDigest* digest, bool everything) {
  const RingSample& sample = process->sample;
  digest->set_id(sample.id);
  digest->set_world_rank(sample.world_rank);
  digest->set_world_size(sample.world_size);
  digest->set_job_key(sample.job_key);
  digest->set_phase(static_cast<uint32_t>(sample.phase));
  digest->set_activity(sample.activity);
  digest->set_idle_ns(process->sampled_ns - process->moved_ns);
  digest->set_quiet(process->quiet);
  digest->set_polling(process->polling);
  digest->set_ended(process->ended);
  for (const BlockedSample& blocked : sample.blocked) {
    rpc::BlockedCall* out = digest->add_blocked();
    out->set_operation(blocked.operation);
    out->set_key(blocked.key);
    out->set_sequence(blocked.sequence);
    out->set_blocked_ns(process->sampled_ns - blocked.since_monotonic_ns);
  }
  for (const MemberSample& member : sample.members) {
    const auto& sent = process->sent_members;
    if (!everything && std::ranges::find(sent, member) != sent.end()) continue;
    rpc::MemberDigest* out = digest->add_members();
    out->set_key(member.key);
    const auto named = [&](const MemberSample& one) {
      return one.key == member.key && one.name == member.name;
    };
    if (everything || std::ranges::none_of(sent, named)) out->set_name(member.name);
    out->set_rank(member.rank);
    out->set_size(member.size);
    out->set_entered(member.entered);
    out->set_completed(member.completed);
    out->set_unordered(member.concurrent);
    const auto add = [](const std::vector<Mark>& marks, auto* to) {
      for (const Mark& mark : marks) {
        rpc::Mark* out_mark = to->Add();
        out_mark->set_sequence(mark.sequence);
        out_mark->set_semantic_hash(mark.semantic_hash);
      }
    };
    add(member.marks, out->mutable_marks());
    add(member.results, out->mutable_results());
    out->set_non_finite_input(member.non_finite_input);
    out->set_non_finite_result(member.non_finite_result);
  }
  process->sent_members = sample.members;
}

void Agent::SendProblems() {
  for (; problems_sent_ < problems_.size(); ++problems_sent_) {
    rpc::AgentMessage message;
    message.mutable_problem()->set_text(problems_[problems_sent_]);
    transport_->Send(connection_, std::move(message));
  }
}

int64_t Agent::ReportPeriodNs() const {
  const bool large = std::ranges::any_of(processes_, [](const auto& process) {
    return process->readable && process->sample.world_size > kLargeJob;
  });
  return large ? 2 * options_.heartbeat_ns : options_.heartbeat_ns;
}

void Agent::SendState() {
  const int64_t now = Now(CLOCK_MONOTONIC);
  // Digests of all moving processes share a message, because a message costs the collector more
  // than its content.
  const bool send_moving = now >= next_moving_digest_ns_;
  if (send_moving) next_moving_digest_ns_ = now + ReportPeriodNs();
  rpc::AgentMessage message;
  for (const auto& process : processes_) {
    if (!process->readable) continue;
    const bool moved = process->sample.activity != process->sent_activity;
    const bool changed = process->quiet != process->sent_quiet ||
                         process->ended != process->sent_ended ||
                         process->polling != process->sent_polling;
    if (process->sent && !changed && (!moved || !send_moving)) continue;
    FillDigest(process.get(), message.mutable_digests()->add_processes(), !process->sent);
    process->sent = true;
    process->sent_activity = process->sample.activity;
    process->sent_quiet = process->quiet;
    process->sent_ended = process->ended;
    process->sent_polling = process->polling;
  }
  if (message.has_digests()) {
    transport_->Send(connection_, std::move(message));
    if (next_heartbeat_ns_ != 0) next_heartbeat_ns_ = now + ReportPeriodNs();
  }
  for (const auto& process : processes_) {
    if (!process->end_known || !process->ended || process->event_sent) continue;
    process->event_sent = true;
    rpc::AgentMessage event;
    event.mutable_process_event()->set_id(process->sample.id);
    event.mutable_process_event()->set_pid(process->sample.pid);
    event.mutable_process_event()->set_world_rank(process->sample.world_rank);
    event.mutable_process_event()->set_abnormal(!FinalizedCleanly(*process));
    transport_->Send(connection_, std::move(event));
  }
}

void Agent::NoteVerdict(int64_t at_realtime_ns) {
  for (const auto& process : processes_) {
    RingSample sample = process->sample;
    const bool known = process->ended || process->sampler->Sample(&sample);
    if (!process->readable || !known) continue;
    Append(journal::Verdict{
        .process = NameOf(*process), .activity = sample.activity, .at_ns = at_realtime_ns});
  }
  RequestCopies(/*min_age_ns=*/0);
  ReadJournalLines();
}

void Agent::HandleClock(const rpc::Clock& answer) {
  const ClockReading asked = {.realtime_ns = answer.asked_realtime_ns(),
                              .monotonic_ns = answer.asked_monotonic_ns()};
  const ClockReading now = {.realtime_ns = Now(CLOCK_REALTIME),
                            .monotonic_ns = Now(CLOCK_MONOTONIC)};
  const auto clock = clock_estimate_.Add(asked, answer.collector_realtime_ns(), now);
  if (clock) {
    Journal(journal::Clock{.host = options_.host, .clock = *clock, .at_ns = now.realtime_ns});
  }
  if (++clock_answers_ < kFirstClocks) next_clock_ns_ = 0;
}

void Agent::Handle(const rpc::CollectorMessage& message) {
  if (message.has_snapshot()) {
    SnapshotJob job;
    job.request = message.snapshot().request();
    const uint64_t newest_records = message.snapshot().newest_records();
    if (newest_records != 0) job.newest_records = newest_records;
    job.compress = message.snapshot().may_compress();
    job.batch = message.snapshot().may_batch();
    if (message.snapshot().settle()) {
      job.settle_until_ns = Now(CLOCK_MONOTONIC) + kSettleNs;
      ScanRings();  // finds ranks that lived between two scans
      SampleAll();
    } else {
      RequestCopies(kCopyPeriodNs);  // something looks wrong
    }
    const auto& ids = message.snapshot().ids();
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i]->readable) continue;
      if (ids.empty() || std::ranges::find(ids, processes_[i]->sample.id) != ids.end()) {
        job.processes.push_back(i);
      }
    }
    snapshots_.push_back(std::move(job));
  } else if (message.has_symbols()) {
    request_worker_.Submit(connection_, message.symbols());
  } else if (message.has_live_stack()) {
    const Process* process = FindById(message.live_stack().id());
    StackTarget target;
    target.id = message.live_stack().id();
    target.wait_only = message.live_stack().wait_only();
    target.variables = message.live_stack().variables();
    if (process != nullptr && !process->ended) {
      target.pid = process->pid;
      target.own_pid = process->sample.pid;
      target.host = process->sample.host;
      target.start_ticks = process->sample.process_start_ticks;
      target.world_rank = process->sample.world_rank;
      target.activity = process->sample.activity;
      target.all_here = SeesAllRanks(process->sample);
      // In another pid namespace, the ids of its threads are not known here.
      const bool knows_tid = target.own_pid == static_cast<uint32_t>(target.pid);
      if (knows_tid) target.tid = static_cast<pid_t>(message.live_stack().tid());
    }
    request_worker_.Submit(connection_, message.live_stack(), target);
  } else if (message.has_environment()) {
    const auto living = std::ranges::find_if(processes_, [](const auto& process) {
      return process->readable && !process->ended && process->pid > 0;
    });
    EnvironmentTarget target;
    if (living != processes_.end()) {
      target = {.pid = (*living)->pid, .world_rank = (*living)->sample.world_rank};
    }
    request_worker_.Submit(connection_, message.environment(), target);
  } else if (message.has_verdict()) {
    NoteVerdict(Now(CLOCK_REALTIME) - std::max<int64_t>(0, message.verdict().age_ns()));
  } else if (message.has_clock()) {
    HandleClock(message.clock());
  } else if (message.has_shutdown()) {
    shut_down_ = true;
    shut_down_keeps_ = message.shutdown().keep();
  }
}

bool Agent::SeesAllRanks(const RingSample& of) const {
  std::set<int32_t> ranks;
  for (const auto& process : processes_) {
    const RingSample& sample = process->sample;
    const bool seen = process->readable && !process->hidden && sample.job_key == of.job_key;
    if (seen) ranks.insert(sample.world_rank);
  }
  return of.world_size > 0 && ranks.size() == static_cast<size_t>(of.world_size);
}

// The verdict needs these lines, and so does `rollcall analyze` if all processes are gone by then.
void Agent::JournalQuiet(Process* process, uint64_t activity) {
  journal::Quiet quiet{
      .process = NameOf(*process),
      .activity = activity,
      .at_ns = Now(CLOCK_REALTIME),
      .tight = process->threads.TightPolls(realtime_offset_ns_),
      .other_threads = process->threads.SampleOthers(proc_, process->pid, process->sample)};
  const journal::Quiet& last = process->journaled_quiet;
  const bool same = last.activity == quiet.activity && last.tight == quiet.tight &&
                    last.other_threads == quiet.other_threads;
  if (same) return;
  process->journaled_quiet = quiet;
  Append(quiet);
}

void Agent::TakeSnapshot(SnapshotJob* job, const Process& process) {
  job->activity_before = process.sample.activity;
  job->ended_before = process.ended;
  if (process.sampler->fd() < 0) process.sampler->SetFile(OpenRing(process.name));
  FileSource source(process.sampler->fd());
  job->bytes = PackImage(TakeImage(source, process.name, ImageDepth::kAll, job->newest_records));
  job->image_bytes = job->bytes.size();
  if (job->compress) {
    // The compression window is limited to two rings, because both sides need as much memory as the
    // window.
    if (!job->compressor) job->compressor.emplace(std::bit_width(2 * job->bytes.size()));
    job->bytes = job->compressor->Compress(job->bytes);
  }
  job->offset = 0;
  job->has_bytes = true;
}

rpc::SnapshotChunk Agent::NextChunk(SnapshotJob* job) {
  rpc::SnapshotChunk chunk;
  chunk.set_request(job->request);
  if (job->processes.empty()) {
    chunk.set_last(true);
    return chunk;
  }
  Process* process = processes_[job->processes.front()].get();
  if (!job->has_bytes) TakeSnapshot(job, *process);
  const size_t size = std::min(kChunkBytes, job->bytes.size() - job->offset);
  chunk.set_id(process->sample.id);
  chunk.set_name(process->name);
  chunk.set_offset(job->offset);
  chunk.set_total_bytes(job->image_bytes);
  chunk.set_compressed(job->compress);
  chunk.set_data(job->bytes.data() + job->offset, size);
  job->offset += size;
  if (job->offset != job->bytes.size()) return chunk;
  RingSample after;
  const bool sampled = process->sampler->Sample(&after);
  if (!sampled) after.activity = job->activity_before;
  const bool same = sampled && after.activity == job->activity_before;
  chunk.set_end_of_file(true);
  chunk.set_quiet(job->ended_before || (process->quiet && same));
  chunk.set_activity(after.activity);
  // A process that ended while its snapshot was being sent wrote its final state afterwards. The
  // snapshot therefore counts as a snapshot of a living process.
  chunk.set_alive(!job->ended_before);
  chunk.set_idle_ns(Now(CLOCK_MONOTONIC) - process->moved_ns);
  if (!process->ended) {
    chunk.set_cpu_ns(process->threads.CpuOutsideNs(ProcSource(), process->pid, process->sample));
  }
  if (chunk.quiet() && !process->ended) JournalQuiet(process, after.activity);
  job->processes.pop_front();
  job->bytes.clear();
  job->has_bytes = false;
  return chunk;
}

void Agent::PumpSnapshots() {
  while (!snapshots_.empty() && transport_->HasRoom()) {
    SnapshotJob& job = snapshots_.front();
    if (job.settle_until_ns != 0 && !EndsAreKnown()) {
      if (Now(CLOCK_MONOTONIC) < job.settle_until_ns) return;
      NoticeEnds(/*may_wait=*/false);
      job.settle_until_ns = 0;
    }
    rpc::AgentMessage message;
    bool last = false;
    if (job.batch) {
      for (size_t bytes = 0; !last && bytes < kBatchBytes;) {
        rpc::SnapshotChunk* chunk = message.mutable_snapshots()->add_chunks();
        *chunk = NextChunk(&job);
        bytes += chunk->data().size();
        last = chunk->last();
      }
    } else {
      *message.mutable_snapshot() = NextChunk(&job);
      last = message.snapshot().last();
    }
    ReadJournalLines();  // the diagnosis needs these lines before the rings
    transport_->Send(connection_, std::move(message));
    if (last) snapshots_.pop_front();
  }
}

}  // namespace rollcall::agent
