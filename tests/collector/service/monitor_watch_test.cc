// SPDX-License-Identifier: Apache-2.0
// What the monitor tells watchers, and what it asks agents for because of their questions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/service/monitor.h"
#include "tests/collector/service/fake_agent.h"

namespace rollcall::service {
namespace {

using ::testing::HasSubstr;

// Keeps the newest state.
class Watcher : public WatchLink {
 public:
  void Send(std::shared_ptr<const rpc::WatchState> state) override {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(state);
    ++states_;
    changed_.notify_all();
  }
  bool closed() override { return false; }

  // Waits for a state like that; null after a timeout.
  std::shared_ptr<const rpc::WatchState> WaitFor(
      const std::function<bool(const rpc::WatchState&)>& wanted, int states = 1) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      return newest_ != nullptr && states_ >= states && wanted(*newest_);
    });
    return came ? newest_ : nullptr;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const rpc::WatchState> newest_;
  int states_ = 0;
};

// Counts the messages to the agent.
class CountingLink : public AnsweringLink {
 public:
  using AnsweringLink::AnsweringLink;
  void Send(const rpc::CollectorMessage& message) override {
    ++sent;
    if (message.has_live_stack()) ++stack_requests;
    AnsweringLink::Send(message);
  }
  std::atomic<int> sent = 0;
  std::atomic<int> stack_requests = 0;
};

class MonitorWatchTest : public ::testing::Test {
 protected:
  // One agent whose ranks wait in these rings, or move.
  void Start(const std::vector<std::vector<uint8_t>>& rings, bool waiting,
             MonitorOptions options = {}) {
    options.answer_timeout_ns = 200'000'000;
    monitor_ = std::make_unique<Monitor>(std::move(options));
    link_ = std::make_shared<CountingLink>(monitor_.get(), rings,
                                           [](const rpc::SnapshotRequest&) { return true; });
    link_->agent = monitor_->Join(link_);
    monitor_->Message(link_->agent, Hello());
    for (size_t rank = 0; rank < rings.size(); ++rank) {
      rpc::AgentMessage message =
          WaitingDigest(IdOf(rings[rank]), static_cast<int32_t>(rings.size()));
      rpc::ProcessDigest* digest = message.mutable_digests()->mutable_processes(0);
      digest->set_world_rank(static_cast<int32_t>(rank));
      if (!waiting) {
        digest->set_quiet(false);
        digest->clear_blocked();
      }
      monitor_->Message(link_->agent, message);
    }
    monitor_->watchers()->Watch(watcher_);
  }
  std::string Ask(rpc::Question::What what, int32_t rank = 0) {
    rpc::Question question;
    question.set_what(what);
    question.set_rank(rank);
    std::promise<std::string> answer;
    monitor_->watchers()->Ask(question,
                              [&](const rpc::Answer& text) { answer.set_value(text.text()); });
    return answer.get_future().get();
  }
  static bool AllRanks(const rpc::WatchState& state) { return state.ranks() == 2; }

  const std::shared_ptr<Watcher> watcher_ = std::make_shared<Watcher>();
  std::shared_ptr<CountingLink> link_;
  std::unique_ptr<Monitor> monitor_;
};

std::vector<std::vector<uint8_t>> Barriers() {
  return {RingInBarrier(0, true), RingInBarrier(1, true)};
}
std::vector<std::vector<uint8_t>> TwoOperations() {
  return {RingInBarrier(0, true, 2, Operation::kAllreduce), RingInBarrier(1, true)};
}

TEST_F(MonitorWatchTest, WatchingAMovingJobSendsNothingToAgents) {
  Start(Barriers(), /*waiting=*/false);
  const auto state = watcher_->WaitFor(AllRanks, /*states=*/2);
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(state->agents(), 1u);
  EXPECT_EQ(state->suspicion(), "");
  EXPECT_EQ(link_->sent, 0);
}

TEST_F(MonitorWatchTest, ShowsAFindingAndHowTheJobEnded) {
  Start(TwoOperations(), /*waiting=*/true);
  const auto hung =
      watcher_->WaitFor([](const rpc::WatchState& state) { return state.findings_size() > 0; });
  ASSERT_NE(hung, nullptr);
  EXPECT_TRUE(hung->findings(0).reported());
  EXPECT_THAT(hung->findings(0).title(), HasSubstr("MPI_Barrier"));
  EXPECT_EQ(hung->end(), "");
  monitor_->Finish();
  const auto end =
      watcher_->WaitFor([](const rpc::WatchState& state) { return !state.end().empty(); });
  ASSERT_NE(end, nullptr);
  EXPECT_THAT(end->end(), HasSubstr("the job ended: hung"));
  EXPECT_THAT(Ask(rpc::Question::DIAGNOSE), HasSubstr("has ended"));
}

TEST_F(MonitorWatchTest, DiagnosesNow) {
  Start(Barriers(), /*waiting=*/false);
  ASSERT_NE(watcher_->WaitFor(AllRanks), nullptr);
  EXPECT_EQ(Ask(rpc::Question::DIAGNOSE), "the diagnosis found nothing\n");
  EXPECT_GT(link_->sent, 0);
}

TEST_F(MonitorWatchTest, ShowsTheCallsOfARankAndLearnsNames) {
  Start(Barriers(), /*waiting=*/false);
  ASSERT_NE(watcher_->WaitFor(AllRanks), nullptr);
  EXPECT_THAT(Ask(rpc::Question::CALLS, 1), HasSubstr("MPI_Barrier #1"));
  EXPECT_THAT(Ask(rpc::Question::CALLS, 5), HasSubstr("no such rank"));
}

TEST_F(MonitorWatchTest, TakesStacksOnlyIfTheyArePermitted) {
  Start(Barriers(), /*waiting=*/false);
  ASSERT_NE(watcher_->WaitFor(AllRanks), nullptr);
  Ask(rpc::Question::STACKS, 1);
  EXPECT_EQ(link_->stack_requests, 1);
}

TEST_F(MonitorWatchTest, TakesNoStacksWithoutThem) {
  MonitorOptions options;
  options.live_stacks = false;
  Start(Barriers(), /*waiting=*/false, std::move(options));
  ASSERT_NE(watcher_->WaitFor(AllRanks), nullptr);
  EXPECT_THAT(Ask(rpc::Question::STACKS, 1), HasSubstr("--no-stacks"));
  EXPECT_EQ(link_->stack_requests, 0);
}

}  // namespace
}  // namespace rollcall::service
