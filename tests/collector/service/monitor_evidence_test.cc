// SPDX-License-Identifier: Apache-2.0
// What the monitor collects for a bundle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collector/base/clock.h"
#include "collector/collect/environment.h"
#include "collector/service/monitor.h"
#include "tests/collector/service/fake_agent.h"

namespace rollcall::service {
namespace {

MonitorOptions WithEvidence(int64_t patience_ns) {
  MonitorOptions options;
  options.answer_timeout_ns = patience_ns;
  options.evidence.deadline_ns = patience_ns;
  options.evidence.write = [](const Report&, const collect::Evidence&) {};
  return options;
}

// Two ranks that cannot complete: they are inside different collectives.
std::vector<std::vector<uint8_t>> MismatchedRings(int32_t size = 2) {
  std::vector<std::vector<uint8_t>> rings = {RingInBarrier(0, true, size, Operation::kAllreduce)};
  for (int32_t rank = 1; rank < size; ++rank) rings.push_back(RingInBarrier(rank, true, size));
  return rings;
}

// One agent answers, one is silent, and one has left: the evidence has the data of the first and
// names the others.
TEST(MonitorTest, EvidenceNamesAgentsThatDidNotAnswer) {
  Monitor monitor{WithEvidence(300'000'000)};
  const std::vector<std::vector<uint8_t>> rings = MismatchedRings();
  const auto answering = std::make_shared<FakeLink>();
  const uint64_t first = monitor.Join(answering);
  monitor.Message(first, Hello());
  for (const char* host : {"silent", "gone"}) {
    const uint64_t other = monitor.Join(std::make_shared<FakeLink>());
    rpc::AgentMessage hello = Hello();
    hello.mutable_hello()->set_host(host);
    hello.mutable_hello()->set_run_directory("/run");
    monitor.Message(other, hello);
    if (host == std::string("gone")) monitor.Leave(other);
  }
  auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
  const uint64_t request = answering->WaitForSnapshotRequest();
  monitor.Message(first, Environment(answering->WaitForEnvironmentRequest(), "{\"of\":1}"));
  for (const auto& ring : rings) monitor.Message(first, Snapshot(request, IdOf(ring), ring, false));
  monitor.Message(first, LastSnapshot(request));
  // What is missing is requested once more.
  monitor.Message(first, LastSnapshot(answering->WaitForSnapshotRequest(request)));
  const Monitor::Final final = finished.get();
  ASSERT_EQ(final.evidence.nodes.size(), 3u);
  EXPECT_EQ(final.evidence.nodes[0].host, "here");
  EXPECT_EQ(final.evidence.nodes[0].absent, "");
  EXPECT_EQ(final.evidence.nodes[0].environment, "{\"of\":1}");
  EXPECT_EQ(final.evidence.nodes[1].host, "silent");
  EXPECT_EQ(final.evidence.nodes[1].run_directory, "/run");
  EXPECT_EQ(final.evidence.nodes[1].absent, "its agent did not answer in time");
  EXPECT_EQ(final.evidence.nodes[2].host, "gone");
  EXPECT_EQ(final.evidence.nodes[2].absent, "its agent was not connected");
  ASSERT_EQ(final.evidence.rings.size(), 2u);
  for (const collect::RingEvidence& ring : final.evidence.rings) {
    EXPECT_THAT(rings, ::testing::Contains(ring.image));
    EXPECT_LT(ring.process, 2u);
  }
}

// Writing a bundle of a large job to a slow disk may take longer than an agent may be silent. The
// agent was not silent.
TEST(MonitorTest, LosesNoAgentWhileEvidenceIsWritten) {
  std::promise<void> writing;
  std::promise<void> heartbeat_sent;
  std::mutex mutex;
  std::vector<std::string> notes;
  MonitorOptions options;
  options.lost_after_ns = 2'000'000'000;
  options.evidence.write = [&](const Report&, const collect::Evidence&) {
    const int64_t begin = Now(CLOCK_MONOTONIC);
    writing.set_value();
    heartbeat_sent.get_future().wait();
    const int64_t left = begin + options.lost_after_ns - Now(CLOCK_MONOTONIC);
    std::this_thread::sleep_for(std::chrono::nanoseconds(left) + std::chrono::milliseconds(100));
  };
  options.on_note = [&](const std::string& note) {
    const std::lock_guard lock(mutex);
    notes.push_back(note);
  };
  const std::vector<std::vector<uint8_t>> rings = {RingInBarrier(0, false), RingInBarrier(1, true)};
  const uint64_t ids[] = {IdOf(rings[0]), IdOf(rings[1])};
  Monitor monitor{options};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  const auto answer = [&](uint64_t request) {
    for (size_t i = 0; i < 2; ++i) monitor.Message(agent, Snapshot(request, ids[i], rings[i], i));
    monitor.Message(agent, LastSnapshot(request));
  };
  monitor.Message(agent, Hello());
  monitor.Message(agent, EndInJournal(ids[0]));
  monitor.Message(agent, EndedDigest(ids[0]));
  monitor.Message(agent, WaitingDigest(ids[1], 2));
  answer(link->WaitForSnapshotRequest());
  monitor.Message(agent, Environment(link->WaitForEnvironmentRequest(), "{}"));

  writing.get_future().wait();
  monitor.Message(agent, WaitingDigest(ids[1], 2));
  const uint64_t before = link->WaitForSnapshotRequest();
  heartbeat_sent.set_value();
  // The monitor refuses the second one only after one more iteration of its loop.
  for (int i = 0; i < 2; ++i) {
    const auto other = std::make_shared<FakeLink>();
    monitor.Message(monitor.Join(other), Hello(2));
    other->WaitForRefusal();
  }
  auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
  answer(link->WaitForSnapshotRequest(before));
  EXPECT_EQ(finished.get().trace.processes.size(), 2u);
  const std::lock_guard lock(mutex);
  EXPECT_THAT(notes, ::testing::IsEmpty());
}

// In a job of so many ranks that a verdict does not need all their records, an agent sends those
// for the verdict and not those for the bundle.
TEST(MonitorTest, ActsAtTheCaptureDeadlineWithTheRecordsThatTheVerdictNeeded) {
  constexpr int32_t kRanks = 70;
  std::mutex mutex;
  std::vector<std::string> order;
  std::promise<collect::Evidence> captured;
  std::promise<void> due;
  std::promise<void> sent;
  const std::shared_future<void> all_sent = sent.get_future();
  const auto note = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    order.push_back(what);
  };
  MonitorOptions options;
  options.evidence.deadline_ns = 300'000'000;
  options.on_report = [&](const Trace&, const Report&) { note("report"); };
  options.evidence.write = [&](const Report&, const collect::Evidence& evidence) {
    note("bundle");
    captured.set_value(evidence);
  };
  options.on_due = [&](const Report&) {
    note("due");
    due.set_value();
  };
  Monitor monitor{std::move(options)};
  const std::vector<std::vector<uint8_t>> all_rings = MismatchedRings(kRanks);
  std::vector<std::pair<uint64_t, rpc::AgentMessage>> waiting;  // of each agent
  for (const int32_t first : {0, kRanks / 2}) {
    const std::vector<std::vector<uint8_t>> rings(all_rings.begin() + first,
                                                  all_rings.begin() + first + kRanks / 2);
    const auto link = std::make_shared<AnsweringLink>(
        &monitor, rings, [&note, &all_sent, first](const rpc::SnapshotRequest& request) {
          all_sent.wait();  // the first diagnosis is that of all ranks
          const bool all = request.newest_records() == 0 && request.ids().empty();
          if (all && first == 0) note("request");
          return !all || first == 0;
        });
    link->agent = monitor.Join(link);
    rpc::AgentMessage hello = Hello();
    hello.mutable_hello()->set_agent_id(static_cast<uint64_t>(first) + 1);
    monitor.Message(link->agent, hello);
    for (const std::vector<uint8_t>& ring : rings) {
      rpc::AgentMessage digest = WaitingDigest(IdOf(ring), kRanks);
      waiting.emplace_back(link->agent, digest);
      digest.mutable_digests()->mutable_processes(0)->clear_blocked();
      digest.mutable_digests()->mutable_processes(0)->set_quiet(false);
      monitor.Message(link->agent, digest);
    }
  }
  // All ranks are known by now, so that the job is a large one from the first request on.
  for (auto& [agent, digest] : waiting) monitor.Message(agent, std::move(digest));
  sent.set_value();
  const collect::Evidence evidence = captured.get_future().get();
  due.get_future().wait();
  EXPECT_EQ(evidence.rings.size(), kRanks);
  ASSERT_EQ(evidence.nodes.size(), 2u);
  EXPECT_EQ(evidence.nodes[0].absent, "");
  EXPECT_EQ(evidence.nodes[1].absent, "its agent did not answer in time");
  const std::lock_guard lock(mutex);
  EXPECT_THAT(order, ::testing::ElementsAre("report", "request", "bundle", "due"));
}

// Two containers with the same name and path.
TEST(MonitorTest, EvidenceHasTheEnvironmentOfEachAgent) {
  const std::vector<std::vector<uint8_t>> rings = MismatchedRings();
  Monitor monitor{WithEvidence(5'000'000'000)};
  std::vector<std::pair<uint64_t, std::shared_ptr<FakeLink>>> agents;
  for (const uint64_t id : {1, 2}) {
    agents.emplace_back(0, std::make_shared<FakeLink>());
    agents.back().first = monitor.Join(agents.back().second);
    rpc::AgentMessage hello = Hello();
    hello.mutable_hello()->set_agent_id(id);
    monitor.Message(agents.back().first, hello);
  }
  auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
  int32_t rank = 0;
  for (const auto& [agent, link] : agents) {
    const uint64_t request = link->WaitForSnapshotRequest();
    monitor.Message(agent, Environment(link->WaitForEnvironmentRequest(),
                                       "{\"of\":" + std::to_string(rank) + "}"));
    const std::vector<uint8_t>& ring = rings[static_cast<size_t>(rank++)];
    monitor.Message(agent, Snapshot(request, IdOf(ring), ring, false));
    monitor.Message(agent, LastSnapshot(request));
  }
  const Monitor::Final final = finished.get();
  ASSERT_EQ(final.evidence.nodes.size(), 2u);
  EXPECT_EQ(final.evidence.nodes[0].environment, "{\"of\":0}");
  EXPECT_EQ(final.evidence.nodes[1].environment, "{\"of\":1}");
  EXPECT_EQ(final.hosts, (std::vector<std::string>{"here", "here"}));
}

TEST(MonitorTest, RefusesInvalidEnvironment) {
  for (const std::string& json : {std::string(collect::kMaxEnvironmentBytes + 1, ' '),
                                  std::string("\x1b[2J"), std::string("[]")}) {
    Monitor monitor{WithEvidence(5'000'000'000)};
    const auto link = std::make_shared<FakeLink>();
    const uint64_t agent = monitor.Join(link);
    monitor.Message(agent, Hello());
    auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
    const uint64_t request = link->WaitForSnapshotRequest();
    monitor.Message(agent, Environment(link->WaitForEnvironmentRequest(), json));
    EXPECT_EQ(link->WaitForRefusal(), "an environment that does not fit");
    for (const auto& ring : MismatchedRings()) {
      monitor.Message(agent, Snapshot(request, IdOf(ring), ring, false));
    }
    monitor.Message(agent, LastSnapshot(request));
    const Monitor::Final final = finished.get();
    ASSERT_EQ(final.evidence.nodes.size(), 1u);
    EXPECT_EQ(final.evidence.nodes[0].environment, "");
  }
}

// An environment that was not requested is ignored.
TEST(MonitorTest, RequestsAndKeepsNoEvidenceWithoutABundle) {
  Monitor monitor{MonitorOptions{}};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  monitor.Message(agent, Environment(1, "not JSON"));
  auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
  const uint64_t request = link->WaitForSnapshotRequest();
  monitor.Message(agent, Snapshot(request, 1, RingInBarrier(0, true), false));
  monitor.Message(agent, LastSnapshot(request));
  const Monitor::Final final = finished.get();
  EXPECT_EQ(final.trace.processes.size(), 1u);
  EXPECT_TRUE(final.evidence.nodes.empty());
  EXPECT_TRUE(final.evidence.rings.empty());
}

}  // namespace
}  // namespace rollcall::service
