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
  options.on_evidence = [](const Trace&, const Report&, const collect::Evidence&) {};
  return options;
}

// One agent answers, one is silent, and one has left: the evidence has the data of the first and
// names the others.
TEST(MonitorTest, EvidenceNamesAgentsThatDidNotAnswer) {
  Monitor monitor{WithEvidence(300'000'000)};
  const std::vector<uint8_t> ring = RingInBarrier(0, true);
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
  monitor.Message(first, Snapshot(request, 1, ring, false));
  monitor.Message(first, LastSnapshot(request));
  const Monitor::Final final = finished.get();
  ASSERT_EQ(final.evidence.nodes.size(), 3u);
  EXPECT_EQ(final.evidence.nodes[0].host, "here");
  EXPECT_EQ(final.evidence.nodes[0].absent, "");
  EXPECT_EQ(final.evidence.nodes[0].environment, "{\"of\":1}");
  EXPECT_EQ(final.evidence.nodes[1].host, "silent");
  EXPECT_EQ(final.evidence.nodes[1].run_directory, "/run");
  EXPECT_EQ(final.evidence.nodes[1].absent, "its agent did not answer within 0.3 s");
  EXPECT_EQ(final.evidence.nodes[2].host, "gone");
  EXPECT_EQ(final.evidence.nodes[2].absent, "its agent was not connected");
  ASSERT_EQ(final.evidence.rings.size(), 1u);
  EXPECT_EQ(final.evidence.rings[0].image, ring);
  EXPECT_EQ(final.evidence.rings[0].process, 0u);
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
  options.on_evidence = [&](const Trace&, const Report&, const collect::Evidence&) {
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

// Two containers with the same name and path.
TEST(MonitorTest, EvidenceHasTheEnvironmentOfEachAgent) {
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
    const std::vector<uint8_t> ring = RingInBarrier(rank++, true);
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
    monitor.Leave(agent);
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
