// SPDX-License-Identifier: Apache-2.0
// A fake agent for tests of the monitor: its link, its messages, and the rings of its ranks.
#ifndef ROLLCALL_TESTS_COLLECTOR_SERVICE_FAKE_AGENT_H_
#define ROLLCALL_TESTS_COLLECTOR_SERVICE_FAKE_AGENT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/import/journal.h"
#include "collector/import/ring_image.h"
#include "collector/import/ring_reader.h"
#include "collector/service/agent_table.h"
#include "proto/collector.pb.h"
#include "proto/ring_format.h"
#include "tests/support/ring_file_builder.h"

namespace rollcall::service {

class FakeLink : public AgentLink {
 public:
  void Send(const rpc::CollectorMessage& message) override {
    const std::lock_guard lock(mutex_);
    sent_.push_back(message);
    changed_.notify_all();
  }
  void Consumed() override {}
  void Refuse(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    refused_ = why;
    changed_.notify_all();
  }

  // Waits for a snapshot request after `last` and returns its number; 0 after a timeout.
  uint64_t WaitForSnapshotRequest(uint64_t last = 0) {
    return WaitFor(last, [](const rpc::CollectorMessage& message) {
      return message.has_snapshot() ? message.snapshot().request() : 0;
    });
  }
  // The first request for symbols.
  rpc::SymbolRequest WaitForSymbolRequest() {
    WaitFor(0, [](const rpc::CollectorMessage& message) {
      return message.has_symbols() ? message.symbols().request() : 0;
    });
    const std::lock_guard lock(mutex_);
    for (const rpc::CollectorMessage& message : sent_) {
      if (message.has_symbols()) return message.symbols();
    }
    return {};
  }
  rpc::Clock WaitForClock() {
    WaitFor(0, [](const rpc::CollectorMessage& message) {
      return static_cast<uint64_t>(message.clock().asked_monotonic_ns());
    });
    const std::lock_guard lock(mutex_);
    return sent_.empty() ? rpc::Clock() : sent_.back().clock();
  }
  bool AskedForSymbols() {
    const std::lock_guard lock(mutex_);
    return std::any_of(sent_.begin(), sent_.end(),
                       [](const rpc::CollectorMessage& message) { return message.has_symbols(); });
  }
  uint64_t WaitForEnvironmentRequest() {
    return WaitFor(0, [](const rpc::CollectorMessage& message) {
      return message.has_environment() ? message.environment().request() : 0;
    });
  }
  std::string WaitForRefusal() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !refused_.empty(); });
    return refused_;
  }

 private:
  uint64_t WaitFor(uint64_t last, uint64_t (*number_of)(const rpc::CollectorMessage&)) {
    std::unique_lock lock(mutex_);
    uint64_t request = 0;
    const bool came = changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      for (const rpc::CollectorMessage& message : sent_) {
        request = std::max(request, number_of(message));
      }
      return request > last;
    });
    return came ? request : 0;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<rpc::CollectorMessage> sent_;
  std::string refused_;
};

inline rpc::AgentMessage Hello(uint32_t protocol = 1) {
  rpc::AgentMessage message;
  message.mutable_hello()->set_protocol(protocol);
  message.mutable_hello()->set_host("here");
  return message;
}

inline rpc::AgentMessage WaitingDigest(uint64_t id = 1, int32_t size = 1) {
  rpc::AgentMessage message;
  rpc::ProcessDigest* digest = message.mutable_digests()->add_processes();
  digest->set_id(id);
  digest->set_world_size(size);
  digest->set_phase(static_cast<uint32_t>(ring::Phase::kRunning));
  digest->set_quiet(true);
  digest->set_idle_ns(1'000'000'000);
  digest->add_blocked()->set_operation(1);
  return message;
}

// The ring of one of `size` ranks, which is inside a barrier, or another collective in place of it,
// or has not entered it. It has no call paths, because no agent would answer the request for their
// symbols.
inline std::vector<uint8_t> RingInBarrier(int32_t rank, bool inside, int32_t size = 2,
                                          Operation operation = Operation::kBarrier) {
  RingFileBuilder builder(rank, size);
  const uint32_t thread = builder.AddThread(100);
  const uint32_t world = builder.AddMember(0xfeed, rank, size, ring::kIsWorld);
  ring::Record record = builder.MakeRecord(Operation::kInit, 1000);
  builder.Append(thread, record);
  if (inside) {
    record = builder.MakeRecord(operation, 2000, world, 1);
    builder.Open(thread, builder.Append(thread, record));
    builder.members[world - 1].entered = 1;
  }
  builder.CountCalls();
  return builder.Build();
}

// A whole ring in one chunk.
inline rpc::AgentMessage Snapshot(uint64_t request, uint64_t id, const std::vector<uint8_t>& ring,
                                  bool alive, bool quiet = true) {
  rpc::AgentMessage message;
  rpc::SnapshotChunk* chunk = message.mutable_snapshot();
  chunk->set_request(request);
  chunk->set_id(id);
  chunk->set_name("0.ring");
  chunk->set_total_bytes(ring.size());
  chunk->set_data(ring.data(), ring.size());
  chunk->set_alive(alive);
  chunk->set_quiet(quiet);
  chunk->set_idle_ns(1'000'000'000);
  chunk->set_end_of_file(true);
  return message;
}

inline rpc::AgentMessage LastSnapshot(uint64_t request) {
  rpc::AgentMessage message;
  message.mutable_snapshot()->set_request(request);
  message.mutable_snapshot()->set_last(true);
  return message;
}

inline uint64_t IdOf(const std::vector<uint8_t>& ring) {
  MemorySource source(ring);
  return RingId(ReadRing(source, "x.ring").header);
}

// The link of an agent that answers each request for rings with the records that it asks for.
class AnsweringLink : public AgentLink {
 public:
  // `answers` is called with each request: whether it is to be answered.
  AnsweringLink(AgentHandler* monitor, std::vector<std::vector<uint8_t>> rings,
                std::function<bool(const rpc::SnapshotRequest&)> answers)
      : monitor_(monitor), rings_(std::move(rings)), answers_(std::move(answers)) {}

  void Send(const rpc::CollectorMessage& message) override {
    if (!message.has_snapshot() || !answers_(message.snapshot())) return;
    const rpc::SnapshotRequest& request = message.snapshot();
    const uint64_t newest = request.newest_records() == 0 ? UINT64_MAX : request.newest_records();
    for (const std::vector<uint8_t>& ring : rings_) {
      const uint64_t id = IdOf(ring);
      const auto& ids = request.ids();
      if (!ids.empty() && std::find(ids.begin(), ids.end(), id) == ids.end()) continue;
      MemorySource source(ring);
      const RingImage image = TakeImage(source, "x.ring", ImageDepth::kAll, newest);
      monitor_->Message(agent, Snapshot(request.request(), id, PackImage(image), true));
    }
    monitor_->Message(agent, LastSnapshot(request.request()));
  }
  void Consumed() override {}
  void Refuse(const std::string& why) override { ADD_FAILURE() << why; }

  uint64_t agent = 0;  // as joined

 private:
  AgentHandler* const monitor_;
  const std::vector<std::vector<uint8_t>> rings_;
  const std::function<bool(const rpc::SnapshotRequest&)> answers_;
};

inline rpc::AgentMessage EndInJournal(uint64_t id) {
  rpc::AgentMessage journal;
  journal.mutable_journal()->set_lines(FormatJournalLine(
      journal::ProcessEnded{{id, "here", 1, 0}, {.how = ProcessEnd::How::kExited, .status = 3}}));
  return journal;
}

inline rpc::AgentMessage EndedDigest(uint64_t id) {
  rpc::AgentMessage ended = WaitingDigest(id, 2);
  ended.mutable_digests()->mutable_processes(0)->set_ended(true);
  return ended;
}

inline rpc::AgentMessage Environment(uint64_t request, const std::string& json) {
  rpc::AgentMessage message;
  message.mutable_environment()->set_request(request);
  message.mutable_environment()->set_json(json);
  return message;
}

}  // namespace rollcall::service

#endif  // ROLLCALL_TESTS_COLLECTOR_SERVICE_FAKE_AGENT_H_
