// The monitor with agents that are made up.
#include "collector/service/monitor.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collector/service/snapshot_set.h"
#include "proto/ring_format.h"

namespace rollcall::service {
namespace {

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

  // The request for a snapshot, once it has come; 0 after too long.
  uint64_t WaitForSnapshotRequest() {
    std::unique_lock lock(mutex_);
    uint64_t request = 0;
    changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      for (const rpc::CollectorMessage& message : sent_) {
        if (message.has_snapshot()) request = message.snapshot().request();
      }
      return request != 0;
    });
    return request;
  }
  std::string WaitForRefusal() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !refused_.empty(); });
    return refused_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<rpc::CollectorMessage> sent_;
  std::string refused_;
};

rpc::AgentMessage Hello(uint32_t protocol = 1) {
  rpc::AgentMessage message;
  message.mutable_hello()->set_protocol(protocol);
  message.mutable_hello()->set_host("here");
  return message;
}

rpc::AgentMessage WaitingDigest() {
  rpc::AgentMessage message;
  rpc::ProcessDigest* digest = message.mutable_digests()->add_processes();
  digest->set_id(1);
  digest->set_world_size(1);
  digest->set_phase(static_cast<uint32_t>(ring::Phase::kRunning));
  digest->set_quiet(true);
  digest->set_idle_ns(1'000'000'000);
  digest->add_blocked()->set_operation(1);
  return message;
}

TEST(MonitorTest, RefusesAnotherProtocol) {
  Monitor monitor{MonitorOptions{}};
  const auto link = std::make_shared<FakeLink>();
  monitor.Message(monitor.Join(link), Hello(2));
  EXPECT_NE(link->WaitForRefusal().find("protocol 2"), std::string::npos);
}

TEST(MonitorTest, RefusesWhoDoesNotGreet) {
  Monitor monitor{MonitorOptions{}};
  const auto link = std::make_shared<FakeLink>();
  monitor.Message(monitor.Join(link), WaitingDigest());
  EXPECT_EQ(link->WaitForRefusal(), "no greeting");
}

TEST(MonitorTest, ASuspicionAsksForASnapshotAndAnImpossibleOneIsRefused) {
  Monitor monitor{MonitorOptions{}};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  monitor.Message(agent, WaitingDigest());
  rpc::AgentMessage chunk;
  chunk.mutable_snapshot()->set_request(link->WaitForSnapshotRequest());
  ASSERT_NE(chunk.snapshot().request(), 0u);
  chunk.mutable_snapshot()->set_id(1);
  chunk.mutable_snapshot()->set_total_bytes(uint64_t{1} << 40);
  monitor.Message(agent, chunk);
  EXPECT_EQ(link->WaitForRefusal(), "a snapshot that does not fit");
  monitor.Leave(agent);
}

TEST(MonitorTest, FinishesWithoutAgents) {
  Monitor monitor{MonitorOptions{}};
  const Monitor::Final final = monitor.Finish();
  EXPECT_FALSE(final.ranks_seen);
  EXPECT_FALSE(final.any_findings);
}

TEST(SnapshotSetTest, TakesChunksInOrderOnly) {
  SnapshotSet set;
  set.Begin(3, {1, 2});
  rpc::SnapshotChunk chunk;
  chunk.set_request(3);
  chunk.set_id(9);
  chunk.set_total_bytes(4);
  chunk.set_data("ab");
  EXPECT_TRUE(set.Add(1, chunk, 0));
  EXPECT_FALSE(set.Add(1, chunk, 0)) << "the same piece again";
  chunk.set_offset(2);
  chunk.set_data("cde");
  EXPECT_FALSE(set.Add(1, chunk, 0)) << "more than the whole";
  chunk.set_data("cd");
  chunk.set_end_of_file(true);
  EXPECT_TRUE(set.Add(1, chunk, 0));
  EXPECT_TRUE(set.images().at(9).whole);
  EXPECT_FALSE(set.complete());
  rpc::SnapshotChunk last;
  last.set_request(3);
  last.set_last(true);
  EXPECT_TRUE(set.Add(1, last, 0));
  set.GiveUpOn(2);
  EXPECT_TRUE(set.complete());
}

TEST(SnapshotSetTest, LateAnswersAreIgnored) {
  SnapshotSet set;
  set.Begin(4, {1});
  rpc::SnapshotChunk chunk;
  chunk.set_request(3);
  chunk.set_id(9);
  chunk.set_offset(77);
  EXPECT_TRUE(set.Add(1, chunk, 0));
  EXPECT_TRUE(set.images().empty());
}

}  // namespace
}  // namespace rollcall::service
