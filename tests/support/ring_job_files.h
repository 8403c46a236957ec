// SPDX-License-Identifier: Apache-2.0
// The ring files of a Job, as the shim would have left them: rings with overwritten records,
// checkpoints, open calls and requests, channels, call paths. The symbols of call paths are added
// to a loaded trace, because there is no program to read them from.
#ifndef ROLLCALL_TESTS_SUPPORT_RING_JOB_FILES_H_
#define ROLLCALL_TESTS_SUPPORT_RING_JOB_FILES_H_

#include <fmt/format.h>

#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>

#include "collector/model/trace.h"
#include "proto/run_directory.h"
#include "proto/signature.h"
#include "tests/support/ring_file_builder.h"
#include "tests/support/ring_job.h"

namespace rollcall::ring_job {

// A real process that represents a rank for an observer; pid 0: none does.
struct RankProcess {
  uint32_t pid = 0;
  uint64_t start_ticks = 0;
};

// The ring of one rank.
class RankRing {
 public:
  RankRing(const Job& job, int32_t rank, const RankProcess& process = {})
      : job_(job), rank_(rank), ring_(rank, job.shape().ranks) {
    if (process.pid == 0) return;
    ring_.header.pid = tid_ = process.pid;
    ring_.header.process_start_ticks = process.start_ticks;
  }

  // May be called once. With fewer calls than the rank made: its state at an earlier time, outside
  // every call.
  RingFileBuilder::Bytes Write(size_t max_calls = SIZE_MAX) {
    RingFileBuilder::SetText(ring_.header.host, fmt::format("node{}", rank_ / kRanksPerHost));
    ring_.header.process_id_random[0] = MixSignature(static_cast<uint64_t>(rank_));
    module_ = ring_.AddModule("/job/bin/train");
    // The layout must not depend on the number of calls.
    ring_.min_capacity[static_cast<uint32_t>(ring::SectionKind::kOpenRequests)] = started_.size();
    ring_.min_capacity[static_cast<uint32_t>(ring::SectionKind::kChannels)] = channels_.size();
    ring_.min_capacity[static_cast<uint32_t>(ring::SectionKind::kCallPaths)] = kPathWords;
    const uint32_t collective_slots = std::bit_ceil(job_.shape().records / 2);
    const uint32_t p2p_slots = std::bit_ceil(job_.steps() * 24);
    ring_.AddThread(tid_ != 0 ? tid_ : static_cast<uint32_t>(4000 + rank_), collective_slots,
                    p2p_slots);
    AddGroups();
    const std::vector<Call>& calls = job_.CallsOf(rank_);
    const size_t returned = std::min(job_.Returned(rank_), max_calls);
    for (size_t i = 0; i < returned; ++i) Add(calls[i], /*open=*/false);
    if (returned == max_calls) {
      // The rank is still running.
    } else if (returned == calls.size()) {
      Finalize();
    } else if (job_.IsOpen(rank_)) {
      Add(calls[returned], /*open=*/true);
    } else if (job_.shape().fault == Fault::kExited) {
      ring_.header.exit_mark = static_cast<uint64_t>(ring::ExitMark::kExit);
      ring_.header.exit_status = 3;
      ring_.header.exit_ticks = Now();
    }
    ring_.threads[0].last_end_ticks = last_end_;
    ring_.CountCalls();
    for (Channel& channel : channels_) {
      if (channel.entry.member != 0) ring_.channels.push_back(channel.entry);
    }
    return ring_.Build();
  }

  // The number of records that it holds after Write().
  uint64_t records() const {
    uint64_t records = 0;
    for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
      records += std::min(ring_.threads[0].ring_head[kind], ring_.threads[0].ring_slots[kind]);
    }
    return records;
  }

 private:
  static constexpr int32_t kRanksPerHost = 8;
  static constexpr uint64_t kCallNs = 20'000;
  static constexpr uint64_t kPathWords = 512;

  struct Channel {
    ring::Channel entry{};
  };

  uint64_t Now() const { return 1'000'000 + time_ * kCallNs + static_cast<uint64_t>(rank_ % 13); }

  void AddGroups() {
    // The keys and names of groups are derived from their first member, so that the rings of all
    // members agree.
    for (uint32_t group = 0; group < kGroups; ++group) {
      const Job::Members members = job_.MembersOf(static_cast<Group>(group), rank_);
      const uint64_t key = MixSignature(group * uint64_t{1} << 32 | uint32_t(members.first));
      const uint32_t uid = ring_.AddMember(key, members.index, members.count,
                                           group == kWorld ? uint32_t{ring::kIsWorld} : 0);
      ring::Member& entry = ring_.members[uid - 1];
      entry.history_stride = 1;
      entry.ranks =
          ring_.AddRanks({{members.first, members.stride, static_cast<uint32_t>(members.count)}});
      if (group == kWorld) {
        world_key_ = key;
        continue;
      }
      entry.parent_key = world_key_;
      entry.parent_sequence = group;
      entry.creating_operation = static_cast<uint16_t>(Operation::kComm_split);
      entry.name = ring_.AddString(fmt::format("{}{}",
                                               group == kTensor     ? "tensor"
                                               : group == kPipeline ? "pipeline"
                                                                    : "data",
                                               members.first));
    }
    // The splits were the first calls; their records have been overwritten.
    ring_.members[0].entered = ring_.members[0].completed = kGroups - 1;
  }

  void Add(const Call& call, bool open) {
    ++time_;
    ring::Record record = RingFileBuilder::MakeRecord(call.operation, Now(), call.group + 1);
    record.prev_end_ticks = last_end_;
    record.call_path = PathOf(call.place);
    const bool p2p = IsP2p(call.operation);
    p2p ? FillP2p(call, open, &record) : FillCollective(call, open, &record);
    record = ring_.Append(0, record, p2p ? ring::kP2pRing : ring::kCollectiveRing);
    if (open) {
      ring_.Open(0, record);
    } else {
      last_end_ = Now() + kCallNs / 2;
    }
  }

  static uint64_t FloatSignature(uint64_t count) {
    return UniformSignature(static_cast<uint32_t>(TypeClass::kF32), count);
  }

  void FillCollective(const Call& call, bool open, ring::Record* record) {
    ring::Member& group = ring_.members[call.group];
    record->sequence = ++group.entered;
    if (!open) group.completed = group.entered;
    if (call.operation != Operation::kBarrier) {
      const bool gathers = call.operation == Operation::kAllgather;
      record->send_count = record->recv_count = call.count;
      record->send_datatype = record->recv_datatype = static_cast<uint16_t>(BasicType::kMPI_FLOAT);
      record->send_signature = record->recv_signature = FloatSignature(call.count);
      if (!gathers && call.operation != Operation::kBcast) {
        record->reduce_op = static_cast<uint16_t>(ReduceOp::kSum);
      }
    }
    if (call.operation == Operation::kBcast || call.operation == Operation::kReduce) {
      record->root_or_peer = call.peer;
    }
    uint64_t hash = static_cast<uint64_t>(call.operation);
    for (const uint64_t word : {record->send_signature, uint64_t{record->reduce_op},
                                static_cast<uint64_t>(record->root_or_peer)}) {
      hash = RollHash(hash, word);
    }
    record->semantic_hash = hash;
    Checkpoint(call, *record, &group);
  }

  // Like shim/checkpoints.cc.
  void Checkpoint(const Call& call, const ring::Record& record, ring::Member* group) {
    semantic_[call.group] = RollHash(semantic_[call.group], record.semantic_hash);
    paths_[call.group] = RollHash(paths_[call.group], call.place);
    const uint64_t n = record.sequence;
    const ring::Checkpoint now{n, semantic_[call.group], paths_[call.group]};
    for (uint32_t k = 0; k < ring::kRecentCheckpoints && n % (uint64_t{1} << 2 * k) == 0; ++k) {
      group->recent[k] = now;
    }
    uint64_t& stride = group->history_stride;
    if (n % stride == 0 && n / stride > ring::kHistoryCheckpoints) {
      for (uint32_t i = 0; i < ring::kHistoryCheckpoints; ++i) {
        group->history[i] =
            i < ring::kHistoryCheckpoints / 2 ? group->history[2 * i + 1] : ring::Checkpoint{};
      }
      stride *= 2;
    }
    if (n % stride == 0) group->history[n / stride - 1] = now;
  }

  Channel& ChannelOf(int32_t peer, int32_t tag) {
    Channel& channel = channels_[static_cast<size_t>(peer) * 8 + static_cast<size_t>(tag)];
    channel.entry.member = kPipeline + 1;
    channel.entry.peer = peer;
    channel.entry.tag = tag;
    return channel;
  }

  void FillP2p(const Call& call, bool open, ring::Record* record) {
    if (call.operation == Operation::kWaitall) {
      record->member = 0;
      record->request = started_[0].record.request;
      record->detail = started_.size();
      if (open) {
        // The shim learns of a completion only when the completing call returns.
        for (const ring::OpenRequest& request : started_) ring_.open_requests.push_back(request);
      } else {
        ++ChannelOf(received_.root_or_peer, received_.tag).entry.received;
      }
      started_used_ = 0;
      return;
    }
    const Job::Members stages = job_.MembersOf(kPipeline, rank_);
    record->root_or_peer = (stages.index + call.peer + stages.count) % stages.count;
    record->tag = call.tag;
    if (call.operation != Operation::kRecv) record->request = ++requests_;
    if (call.operation == Operation::kIsend) {
      record->send_count = call.count;
      record->send_datatype = static_cast<uint16_t>(BasicType::kMPI_FLOAT);
      record->send_signature = FloatSignature(call.count);
      record->detail = ++ChannelOf(record->root_or_peer, call.tag).entry.sent;
    } else {
      record->recv_count = call.count;
      record->recv_datatype = static_cast<uint16_t>(BasicType::kMPI_FLOAT);
      record->recv_signature = FloatSignature(call.count);
      received_ = *record;
      if (call.operation == Operation::kRecv) {
        if (!open) ++ChannelOf(record->root_or_peer, call.tag).entry.received;
        return;
      }
    }
    ring::OpenRequest& request = started_[started_used_++];
    request = {};
    request.uid = record->request;
    request.state = static_cast<uint32_t>(ring::RequestState::kActive);
    request.waiter = 1;  // is read only for a Waitall that does not return
    request.record = *record;
  }

  void Finalize() {
    ++time_;
    ring::Record record = RingFileBuilder::MakeRecord(Operation::kFinalize, Now());
    record.prev_end_ticks = last_end_;
    ring_.Append(0, record);
    last_end_ = Now() + kCallNs / 2;
    ring_.header.phase = static_cast<uint64_t>(ring::Phase::kFinalized);
    ring_.header.phase_ticks = last_end_;
  }

  // The path main > train > (layers of a framework) > step > function of `place` > call.
  uint32_t PathOf(uint32_t place) {
    const auto [entry, added] = path_words_.try_emplace(place, 0);
    if (!added) return entry->second;
    std::vector<std::pair<uint32_t, uint64_t>> frames;
    const auto push = [&](uint64_t function, uint64_t line) {
      frames.emplace_back(module_, function << 12 | line);
    };
    push(0x400, 7);                        // the wrapper that makes the call
    push(0x300 + place / 64, place % 64);  // forward(), backward(), …
    push(0x200, 10 + place / 64);          // step()
    for (uint64_t layer = 0; layer < 9; ++layer) push(0x110 + layer, 3);
    push(0x101, 20);  // train()
    push(0x100, 5);   // main()
    return entry->second = ring_.AddPath(frames, MixSignature(place));
  }

  const Job& job_;
  const int32_t rank_;
  uint32_t tid_ = 0;
  RingFileBuilder ring_;
  uint32_t module_ = 0;
  uint64_t world_key_ = 0;
  uint64_t time_ = 0;
  uint64_t last_end_ = 0;
  uint64_t requests_ = 0;
  std::array<uint64_t, kGroups> semantic_{};  // rolling hashes
  std::array<uint64_t, kGroups> paths_{};
  std::array<Channel, Job::kStages * 8> channels_;  // by peer and tag
  std::array<ring::OpenRequest, 2> started_{};      // since the last Waitall
  size_t started_used_ = 0;
  ring::Record received_{};
  std::unordered_map<uint32_t, uint32_t> path_words_;
};

struct Written {
  uint64_t bytes = 0;
  uint64_t records = 0;  // number of records that the rings hold
};

// Writes one file per rank into `directory`/rings, and overwrites existing files.
inline Written WriteRings(const Job& job, const std::string& directory) {
  const std::string rings = directory + "/" + kRingsDirectory;
  std::filesystem::create_directories(rings);
  Written written;
  for (int32_t rank = 0; rank < job.shape().ranks; ++rank) {
    RankRing ring(job, rank);
    const RingFileBuilder::Bytes bytes = ring.Write();
    std::ofstream(fmt::format("{}/{:06}{}", rings, rank, kRingSuffix), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    written.bytes += bytes.size();
    written.records += ring.records();
  }
  return written;
}

// Adds the symbols that a symbolizer would find in the job's program.
inline void NamePlaces(Trace* trace) {
  constexpr std::string_view kPlaces[] = {"", "forward", "backward", "optimizer", "loss", "report"};
  for (Code& code : trace->codes) {
    const uint64_t function = code.vaddr >> 12;
    SourceFrame frame;
    frame.function = function == 0x400   ? "call_mpi"
                     : function >= 0x300 ? std::string(kPlaces[function - 0x300])
                     : function == 0x200 ? "step"
                     : function >= 0x110 ? fmt::format("layer_{}", function - 0x110)
                                         : (function == 0x101 ? "train" : "main");
    frame.file = "train.cc";
    frame.line = static_cast<int>((function & 0xff) * 100 + (code.vaddr & 0xfff));
    frame.module = code.module_path;
    frame.vaddr = code.vaddr;
    code.frames = {frame};
  }
}

}  // namespace rollcall::ring_job

#endif  // ROLLCALL_TESTS_SUPPORT_RING_JOB_FILES_H_
