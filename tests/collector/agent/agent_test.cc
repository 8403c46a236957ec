// SPDX-License-Identifier: Apache-2.0
// Tests the agent with a fake transport and fake rings, without MPI, gRPC and additional threads.
#include "collector/agent/agent.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/base/process_table.h"
#include "collector/base/result.h"
#include "collector/collect/evidence.h"
#include "collector/import/journal.h"
#include "collector/import/ring_reader.h"
#include "collector/launch/run_root.h"
#include "collector/rpc/compression.h"
#include "proto/run_directory.h"
#include "tests/support/fake_ring.h"
#include "tests/support/fake_transport.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A process that does nothing until it is told to end.
class Sleeper {
 public:
  Sleeper() {
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
  }
  ~Sleeper() { End(SIGKILL); }
  void End(int signal) {
    if (pid_ <= 0) return;
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<RunDirectory> run = RunRoot::CreateAt(directory_.path() + "/run");
    ASSERT_TRUE(run) << run.error();
    run_ = std::move(*run);
    MakeAgent(AgentOptions().parent_report_timeout_ns);
  }

  void MakeAgent(int64_t parent_report_timeout_ns, uint64_t pid_namespace = OwnPidNamespace()) {
    agent_ =
        std::make_unique<Agent>(AgentOptions{.run_directory = run_.path(),
                                             .host = "here",
                                             .version = "test",
                                             .parent_report_timeout_ns = parent_report_timeout_ns,
                                             .end_order_blur_ns = 0,
                                             .pid_namespace = pid_namespace},
                                &transport_);
  }

  std::unique_ptr<FakeRing> MakeRing(pid_t pid, int32_t rank, int32_t size) {
    return std::make_unique<FakeRing>(
        run_.path() + "/rings/here-" + std::to_string(pid) + "-1.ring", pid, ProcessStartTicks(pid),
        rank, size);
  }

  // Runs the agent until `done`; the time is a bound for a broken agent, not a wait.
  bool RunUntil(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      agent_->RunOnce(20);
    }
    return true;
  }

  // The newest digest of the process of `rank`.
  const rpc::ProcessDigest* LastDigest(int32_t rank) {
    sent_ = transport_.Sent();
    const rpc::ProcessDigest* last = nullptr;
    for (const rpc::AgentMessage& message : sent_) {
      for (const rpc::ProcessDigest& digest : message.digests().processes()) {
        if (digest.world_rank() == rank) last = &digest;
      }
    }
    return last;
  }

  // Returns the answer of the agent's thread.
  std::string RequestEnvironments() {
    rpc::CollectorMessage question;
    question.mutable_environment()->set_request(77);
    transport_.Ask(question);
    std::string json;
    EXPECT_TRUE(RunUntil([&] {
      for (const rpc::AgentMessage& message : transport_.Sent()) {
        if (message.environment().request() == 77) json = message.environment().json();
      }
      return !json.empty();
    }));
    return json;
  }

  std::string JournalText() {
    std::string text;
    for (const rpc::AgentMessage& message : transport_.Sent()) text += message.journal().lines();
    return text;
  }

  TemporaryDirectory directory_;
  RunDirectory run_;
  FakeTransport transport_;
  std::vector<rpc::AgentMessage> sent_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentTest, SendsTheAllowedVariablesOfALivingRank) {
  const Sleeper process;
  const auto ring = MakeRing(process.pid(), 3, 4);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(3) != nullptr; }));
  const std::string json = RequestEnvironments();
  EXPECT_TRUE(collect::IsEnvironment(json)) << json;
  EXPECT_THAT(json, HasSubstr("\"of\": \"rank 3\""));
  EXPECT_THAT(json, Not(HasSubstr("\"PATH\"")));
}

// After an answer the thread wakes the agent. ThreadSanitizer reports a descriptor that is closed
// before.
TEST_F(AgentTest, EndsAfterTheThreadThatAnswers) {
  EXPECT_NE(RequestEnvironments(), "");
  agent_.reset();
}

// The collector uses the lines as soon as it has the answer. The agent reads neither before both
// questions have appended their lines: the first answer is ready then.
TEST_F(AgentTest, AnswersAfterTheLinesThatTheAnswerHasAppended) {
  const Sleeper process;
  const auto ring = MakeRing(process.pid(), 2, 4);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(2) != nullptr; }));
  for (const uint64_t number : {78, 79}) {
    rpc::CollectorMessage question;
    question.mutable_live_stack()->set_request(number);
    question.mutable_live_stack()->set_id(LastDigest(2)->id());
    transport_.Ask(question);
  }
  agent_->RunOnce(0);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto appended = [this] {
    const std::string text = ReadWholeFile(run_.path() + "/" + kJournalFile).value_or("");
    const std::string event = "\"event\":\"outside-wait\"";
    const size_t first = text.find(event);
    return first != std::string::npos && text.find(event, first + 1) != std::string::npos;
  };
  while (!appended() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  ASSERT_TRUE(appended());
  const auto place = [&](auto matches) {
    const std::vector<rpc::AgentMessage> sent = transport_.Sent();
    return std::ranges::find_if(sent, matches) - sent.begin();
  };
  const auto answers = [](const rpc::AgentMessage& message) {
    return message.live_stacks().request() == 78;
  };
  ASSERT_TRUE(RunUntil([&] { return std::ranges::any_of(transport_.Sent(), answers); }));
  const auto has_lines = [](const rpc::AgentMessage& message) {
    return message.journal().lines().find("\"event\":\"stack\"") != std::string::npos;
  };
  EXPECT_LT(place(has_lines), place(answers));
}

// The directory uses one of the two remaining descriptors and the ring uses the other. The agent
// and its thread have worked before the limit is set, because UBSan creates a pipe to check the
// type of an object that it sees for the first time, and reports the object if that fails.
TEST_F(AgentTest, RankCountsAsAliveIfNoDescriptorIsLeftToWatchIt) {
  const Sleeper process;
  const auto watched = MakeRing(process.pid(), 2, 4);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(2) != nullptr; }));
  ASSERT_NE(RequestEnvironments(), "");
  const Sleeper unwatched;
  const auto ring = MakeRing(unwatched.pid(), 3, 4);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = dup(transport_.wake_fd());
  close(lowest);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(lowest) + 2;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  agent_->RunOnce(0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(agent_->alive(), 2u);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(3) != nullptr; }));
  EXPECT_FALSE(LastDigest(3)->ended());
}

// Two containers other than the agent's: the first process of each has pid 1. The agent cannot see
// when such a process ends, but it accepts the report of its parent.
TEST_F(AgentTest, ProcessesOfInvisiblePidNamespacesCountAsAlive) {
  constexpr uint64_t kAgents = 7;
  MakeAgent(AgentOptions().parent_report_timeout_ns, kAgents);
  std::vector<std::unique_ptr<FakeRing>> rings;
  for (const int32_t rank : {0, 1}) {
    rings.push_back(std::make_unique<FakeRing>(
        fmt::format("{}/rings/here-1-{}.ring", run_.path(), rank), 1, 5000, rank, 2));
    rings.back()->SetPidNamespace(kAgents + 1 + static_cast<uint64_t>(rank));
  }
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr && LastDigest(1) != nullptr; }));
  EXPECT_FALSE(LastDigest(0)->ended());
  EXPECT_FALSE(LastDigest(1)->ended());
  EXPECT_EQ(agent_->alive(), 0u) << "nobody has to wait for their end";
  std::vector<std::string> problems;
  for (const rpc::AgentMessage& message : transport_.Sent()) {
    if (message.has_problem()) problems.push_back(message.problem().text());
  }
  EXPECT_THAT(problems, ElementsAre(HasSubstr("pid namespace")));

  auto journal = JournalWriter::Open(run_.path() + "/" + kJournalFile);
  ASSERT_TRUE(journal) << journal.error();
  journal->Append(journal::ProcessEnded{{LastDigest(1)->id(), "here", 1, 1},
                                        {.how = ProcessEnd::How::kExited, .status = 5}});
  ASSERT_TRUE(RunUntil([&] { return LastDigest(1)->ended(); }));
  EXPECT_FALSE(LastDigest(0)->ended());
}

// An agent on the host sees all processes: a process that does not exist has ended.
TEST_F(AgentTest, MissingContainerProcessHasEndedIfAllProcessesAreVisible) {
  MakeAgent(AgentOptions().parent_report_timeout_ns, kInitialPidNamespace);
  FakeRing ring(run_.path() + "/rings/here-1-0.ring", 1, 5000, 0, 2);
  ring.SetPidNamespace(7);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr && LastDigest(0)->ended(); }));
}

TEST_F(AgentTest, ReportsHalfAsOftenInALargeJob) {
  constexpr int64_t kHeartbeatNs = 100'000'000;
  agent_ = std::make_unique<Agent>(AgentOptions{.run_directory = run_.path(),
                                                .host = "here",
                                                .version = "test",
                                                .heartbeat_ns = kHeartbeatNs},
                                   &transport_);
  const Sleeper process;
  const auto ring = MakeRing(process.pid(), 3, 8193);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(3) != nullptr; }));
  transport_.Clear();
  std::vector<int64_t> at;
  ASSERT_TRUE(RunUntil([&] {
    for (const rpc::AgentMessage& message : transport_.Take()) {
      if (message.has_heartbeat()) at.push_back(message.heartbeat().monotonic_ns());
    }
    return at.size() >= 2;
  }));
  EXPECT_GT(at[1] - at[0], kHeartbeatNs * 3 / 2);
}

TEST_F(AgentTest, SendsHelloFirstAndAfterAReconnect) {
  ASSERT_TRUE(RunUntil([&] { return transport_.Sent().size() >= 2; }));
  EXPECT_EQ(transport_.Sent()[0].hello().host(), "here");
  EXPECT_FALSE(transport_.Sent()[0].hello().resumed());
  transport_.Clear();
  transport_.Connect();
  ASSERT_TRUE(RunUntil([&] { return !transport_.Sent().empty(); }));
  EXPECT_TRUE(transport_.Sent()[0].hello().resumed());
}

// A collector whose clock is an hour ahead.
TEST_F(AgentTest, RequestsTheTimeAndJournalsTheDifference) {
  constexpr int64_t kHourNs = 3'600'000'000'000;
  size_t answered = 0;
  int questions = 0;
  ASSERT_TRUE(RunUntil([&] {
    const std::vector<rpc::AgentMessage> sent = transport_.Sent();
    for (; answered < sent.size(); ++answered) {
      const rpc::Heartbeat& heartbeat = sent[answered].heartbeat();
      if (!heartbeat.asks_clock()) continue;
      ++questions;
      rpc::CollectorMessage answer;
      answer.mutable_clock()->set_asked_realtime_ns(heartbeat.realtime_ns());
      answer.mutable_clock()->set_asked_monotonic_ns(heartbeat.monotonic_ns());
      answer.mutable_clock()->set_collector_realtime_ns(Now(CLOCK_REALTIME) + kHourNs);
      transport_.Ask(answer);
    }
    return questions == 4;
  }));
  const std::string text = JournalText();
  const auto event = ParseJournalLine(text.substr(0, text.find('\n')));
  ASSERT_TRUE(event && std::holds_alternative<journal::Clock>(*event)) << text;
  const auto& clock = std::get<journal::Clock>(*event);
  EXPECT_EQ(clock.host, "here");
  EXPECT_LE(std::abs(clock.clock.offset_ns + kHourNs), clock.clock.error_ns);
}

TEST_F(AgentTest, ReportsQuietOnlyAfterAllMovementStopped) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 2);
  ring->Enter(Operation::kBarrier, 9);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr; }));
  EXPECT_FALSE(LastDigest(0)->quiet());
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0)->quiet(); }));
  const rpc::ProcessDigest digest = *LastDigest(0);
  ASSERT_EQ(digest.blocked_size(), 1);
  EXPECT_EQ(digest.blocked(0).operation(), static_cast<uint32_t>(Operation::kBarrier));
  EXPECT_EQ(digest.blocked(0).key(), 77u);
  EXPECT_EQ(digest.blocked(0).sequence(), 1u);
  ring->Return();
  ASSERT_TRUE(RunUntil([&] { return !LastDigest(0)->quiet(); }));
  EXPECT_NE(LastDigest(0)->activity(), digest.activity());
}

TEST_F(AgentTest, PollsAreNotMovement) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 2);
  ASSERT_TRUE(RunUntil([&] {
    ring->Poll();
    const rpc::ProcessDigest* digest = LastDigest(0);
    return digest != nullptr && digest->quiet() && digest->polling();
  }));
}

TEST_F(AgentTest, SendsMarksOncePerConnection) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 2);
  ring->Enter(Operation::kBarrier, 1234);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr && LastDigest(0)->quiet(); }));
  int marks = 0;
  for (const rpc::AgentMessage& message : transport_.Sent()) {
    for (const auto& digest : message.digests().processes()) {
      for (const auto& member : digest.members()) marks += member.marks_size();
    }
  }
  EXPECT_EQ(marks, 1);
  transport_.Clear();
  transport_.Connect();
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr; }));
  ASSERT_EQ(LastDigest(0)->members_size(), 1);
  EXPECT_EQ(LastDigest(0)->members(0).marks(0).semantic_hash(), 1234u);
}

TEST_F(AgentTest, SendsNamesOncePerConnection) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 2);
  ring->Enter(Operation::kBarrier, 1);
  const auto members = [&](bool named) {
    int count = 0;
    for (const rpc::AgentMessage& message : transport_.Sent()) {
      for (const auto& digest : message.digests().processes()) {
        for (const auto& member : digest.members()) count += member.name().empty() != named;
      }
    }
    return count;
  };
  ASSERT_TRUE(RunUntil([&] { return members(true) == 1; }));
  ring->Return();
  ASSERT_TRUE(RunUntil([&] { return members(false) == 1; }));
  EXPECT_EQ(members(true), 1);
  transport_.Clear();
  transport_.Connect();
  ASSERT_TRUE(RunUntil([&] { return members(true) == 1; }));
  EXPECT_EQ(LastDigest(0)->members(0).name(), "MPI_COMM_WORLD");
}

// A process whose life is shorter than the time between two samples must be watched, too; otherwise
// its end is unknown. The agent must therefore read a ring that had no header at first before the
// next sample, which is an hour away.
TEST_F(AgentTest, ReadsARingThatIsBeingCreatedBeforeTheNextSample) {
  if (!UniqueFd(inotify_init1(IN_CLOEXEC))) GTEST_SKIP() << "no inotify instance is free";
  agent_ = std::make_unique<Agent>(AgentOptions{.run_directory = run_.path(),
                                                .host = "here",
                                                .version = "test",
                                                .sample_period_ns = 3'600'000'000'000},
                                   &transport_);
  agent_->RunOnce(0);
  Sleeper sleeper;
  const std::string name = "here-" + std::to_string(sleeper.pid()) + "-1.ring";
  std::ofstream(run_.path() + "/rings/" + name).close();
  ASSERT_TRUE(RunUntil([&] { return agent_->seen() == 1; }));
  const std::unique_ptr<FakeRing> ring = MakeRing(sleeper.pid(), 0, 1);
  EXPECT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
}

TEST_F(AgentTest, JournalsHowAProcessEnded) {
  Sleeper sleeper;
  const pid_t pid = sleeper.pid();
  const auto ring = MakeRing(pid, 3, 4);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  sleeper.End(SIGKILL);
  ASSERT_TRUE(RunUntil([&] { return JournalText().find("process-end") != std::string::npos; }));
  EXPECT_EQ(agent_->alive(), 0u);
  // Before Linux 6.15 the kernel may not report the end: the journal then says that it is unknown.
  EXPECT_THAT(JournalText(),
              ::testing::AnyOf(HasSubstr("\"signaled\",\"status\":9"), HasSubstr("\"vanished\"")));
  ASSERT_TRUE(RunUntil([&] {
    for (const auto& message : transport_.Sent()) {
      if (message.has_process_event()) return message.process_event().abnormal();
    }
    return false;
  }));
}

TEST_F(AgentTest, ReportOfTheParentHasPriority) {
  Sleeper sleeper;
  const auto pid = static_cast<uint32_t>(sleeper.pid());
  const auto ring = MakeRing(sleeper.pid(), 0, 1);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  auto journal = JournalWriter::Open(run_.path() + "/" + kJournalFile);
  ASSERT_TRUE(journal) << journal.error();
  ProcessEnd end;
  end.how = ProcessEnd::How::kExited;
  end.status = 3;
  ASSERT_TRUE(journal->Append(journal::ProcessEnded{
      .process = {.ring_id = 0, .host = "here", .pid = pid, .rank = -1}, .end = end}));
  sleeper.End(SIGKILL);
  ASSERT_TRUE(RunUntil([&] {
    for (const auto& message : transport_.Sent()) {
      if (message.has_process_event()) return true;
    }
    return false;
  }));
  const std::string text = JournalText();
  EXPECT_THAT(text, HasSubstr("\"exited\",\"status\":3"));
  EXPECT_EQ(text.find("signaled"), std::string::npos) << text;
}

// If process 1 adopts the ranks of a killed launcher, it may reap them much later.
TEST_F(AgentTest, LastSnapshotDoesNotWaitForTheParentOfAZombie) {
  constexpr int64_t kForEverNs = 3'600'000'000'000;
  MakeAgent(kForEverNs);
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 1);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  ASSERT_EQ(kill(sleeper.pid(), SIGKILL), 0);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 0; }));
  EXPECT_THAT(JournalText(), Not(HasSubstr("process-end")));
  rpc::CollectorMessage request;
  request.mutable_snapshot()->set_settle(true);
  transport_.Ask(request);
  ASSERT_TRUE(RunUntil([&] {
    const auto sent = transport_.Sent();
    return std::any_of(sent.begin(), sent.end(),
                       [](const auto& message) { return message.snapshot().last(); });
  }));
  EXPECT_THAT(JournalText(), HasSubstr("process-end"));
}

TEST_F(AgentTest, ProcessEndsAfterTheFirstAreAttributedToTheLauncher) {
  Sleeper first;
  Sleeper second;
  const auto ring1 = MakeRing(first.pid(), 0, 2);
  const auto ring2 = MakeRing(second.pid(), 1, 2);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 2; }));
  first.End(SIGABRT);  // not SIGSEGV, which sanitizers report in the child
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  second.End(SIGKILL);
  ASSERT_TRUE(RunUntil([&] {
    int events = 0;
    for (const auto& message : transport_.Sent()) events += message.has_process_event() ? 1 : 0;
    return events == 2;
  }));
  const std::string text = JournalText();
  const size_t launcher = text.find("\"by_launcher\":true");
  ASSERT_NE(launcher, std::string::npos) << text;
  EXPECT_EQ(text.find("\"by_launcher\":true", launcher + 1), std::string::npos) << text;
  const std::string line = text.substr(0, text.find('\n', launcher));
  EXPECT_THAT(line.substr(line.rfind('\n') + 1), HasSubstr("\"rank\":1"));
}

// Ranks of Open MPI 4.1.0 crash when their daemon ends.
TEST_F(AgentTest, CrashAfterAnInterruptionIsAttributedToTheLauncher) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 1);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  agent_->NoteInterrupted(/*by_rollcall=*/true, Now(CLOCK_MONOTONIC));
  sleeper.End(SIGABRT);
  ASSERT_TRUE(RunUntil([&] { return JournalText().find("process-end") != std::string::npos; }));
  EXPECT_THAT(JournalText(), HasSubstr("\"by_launcher\":true"));
}

// `rollcall exec` observed the end of the rank before the agent did.
TEST_F(AgentTest, CrashReportedByTheParentAfterAnInterruptionIsAttributedToTheLauncher) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 1);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  agent_->NoteInterrupted(/*by_rollcall=*/true, Now(CLOCK_MONOTONIC));
  Result<JournalWriter> parent = JournalWriter::Open(run_.path() + "/" + kJournalFile);
  ASSERT_TRUE(parent) << parent.error();
  parent->Append(journal::ProcessEnded{
      .process = {.host = "here", .pid = static_cast<uint32_t>(sleeper.pid())},
      .end = {.how = ProcessEnd::How::kSignaled, .status = SIGABRT, .at_ns = Now(CLOCK_REALTIME)}});
  sleeper.End(SIGABRT);
  ASSERT_TRUE(RunUntil([&] { return JournalText().find("by_launcher") != std::string::npos; }));
}

TEST_F(AgentTest, AnswersASnapshotRequestWithTheWholeRing) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 2);
  ring->Enter(Operation::kBarrier, 9);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr && LastDigest(0)->quiet(); }));
  rpc::CollectorMessage request;
  request.mutable_snapshot()->set_request(5);
  transport_.Ask(request);
  std::vector<uint8_t> bytes;
  bool quiet = false;
  ASSERT_TRUE(RunUntil([&] {
    bytes.clear();
    for (const auto& message : transport_.Sent()) {
      const auto& chunk = message.snapshot();
      bytes.insert(bytes.end(), chunk.data().begin(), chunk.data().end());
      quiet = quiet || chunk.quiet();
      if (message.has_snapshot() && chunk.last() && chunk.request() == 5) return true;
    }
    return false;
  }));
  EXPECT_TRUE(quiet);
  MemorySource source(bytes);
  const RingSnapshot snapshot = ReadRing(source, "copy");
  ASSERT_TRUE(snapshot.usable);
  EXPECT_EQ(snapshot.header.world_rank, 0);
  EXPECT_THAT(JournalText(), HasSubstr("\"quiet\""));
}

TEST_F(AgentTest, CompressesAnswersIfAllowed) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 2);
  ring->Enter(Operation::kBarrier, 9);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr && LastDigest(0)->quiet(); }));
  rpc::CollectorMessage request;
  request.mutable_snapshot()->set_request(5);
  request.mutable_snapshot()->set_newest_records(64);
  request.mutable_snapshot()->set_may_compress(true);
  transport_.Ask(request);
  std::string packed;
  uint64_t total_bytes = 0;
  ASSERT_TRUE(RunUntil([&] {
    packed.clear();
    for (const auto& message : transport_.Sent()) {
      const auto& chunk = message.snapshot();
      if (message.has_snapshot() && chunk.last()) return true;
      packed += chunk.data();
      if (chunk.end_of_file()) total_bytes = chunk.total_bytes();
    }
    return false;
  }));
  EXPECT_LT(packed.size(), total_bytes / 2);
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(rpc::Decompressor().Append(packed, total_bytes, &bytes));
  MemorySource source(bytes);
  const RingSnapshot snapshot = ReadRing(source, "copy");
  ASSERT_TRUE(snapshot.usable);
  ASSERT_EQ(snapshot.threads.size(), 1u);
  EXPECT_EQ(snapshot.threads[0].open.size(), 1u);
}

TEST_F(AgentTest, SendsSmallRingsInOneMessageAfterTheirJournalLines) {
  Sleeper sleepers[2];
  const std::unique_ptr<FakeRing> rings[] = {MakeRing(sleepers[0].pid(), 0, 2),
                                             MakeRing(sleepers[1].pid(), 1, 2)};
  for (const auto& ring : rings) ring->Enter(Operation::kBarrier, 9);
  ASSERT_TRUE(RunUntil([&] {
    return LastDigest(0) != nullptr && LastDigest(0)->quiet() && LastDigest(1) != nullptr &&
           LastDigest(1)->quiet();
  }));
  rpc::CollectorMessage request;
  request.mutable_snapshot()->set_request(5);
  request.mutable_snapshot()->set_newest_records(4);
  request.mutable_snapshot()->set_may_compress(true);
  request.mutable_snapshot()->set_may_batch(true);
  transport_.Ask(request);
  rpc::SnapshotBatch batch;
  std::string lines;  // of the journal, sent before
  ASSERT_TRUE(RunUntil([&] {
    lines.clear();
    for (const auto& message : transport_.Sent()) {
      lines += message.journal().lines();
      if (!message.has_snapshots()) continue;
      batch = message.snapshots();
      return true;
    }
    return false;
  }));
  ASSERT_EQ(batch.chunks_size(), 3);
  EXPECT_TRUE(batch.chunks(0).end_of_file());
  EXPECT_TRUE(batch.chunks(1).end_of_file());
  EXPECT_NE(batch.chunks(0).id(), batch.chunks(1).id());
  EXPECT_TRUE(batch.chunks(2).last());
  const size_t first = lines.find("\"quiet\"");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(lines.find("\"quiet\"", first + 1), std::string::npos);
}

// A job may run a thousand short programs, each with a ring of some MiB and several descriptors.
TEST_F(AgentTest, RingsOfEndedProcessesUseOnlyTheMemoryTheyNeed) {
  agent_ = nullptr;
  agent_ = std::make_unique<Agent>(AgentOptions{.run_directory = run_.path(),
                                                .host = "here",
                                                .version = "test",
                                                .parent_report_timeout_ns = 0,
                                                .release_after_ns = 0,
                                                .max_open_ended = 0},
                                   &transport_);
  Sleeper ended;
  Sleeper living;
  const std::unique_ptr<FakeRing> rings[] = {MakeRing(ended.pid(), 0, 2),
                                             MakeRing(living.pid(), 1, 2)};
  const auto path = [&](const Sleeper& process) {
    return run_.path() + "/rings/here-" + std::to_string(process.pid()) + "-1.ring";
  };
  const auto blocks = [](const std::string& file) {
    struct stat status = {};
    stat(file.c_str(), &status);
    return status.st_blocks;
  };
  const std::string files[] = {path(ended), path(living)};
  for (const std::string& file : files) {
    std::ofstream(file, std::ios::binary | std::ios::app) << std::string(1 << 20, '\0');
    ASSERT_GE(blocks(file), (1 << 20) / 512);
  }
  rings[0]->SetPhase(ring::Phase::kFinalized);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 2; }));
  const int64_t before = blocks(files[0]);
  ended.End(SIGTERM);
  ASSERT_TRUE(RunUntil([&] { return blocks(files[0]) < 64; })) << blocks(files[0]);
  EXPECT_EQ(blocks(files[1]), before);

  // The agent has closed the ring by now, but must still send it.
  rpc::CollectorMessage request;
  request.mutable_snapshot()->set_request(5);
  transport_.Ask(request);
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(RunUntil([&] {
    for (const auto& message : transport_.Sent()) {
      const auto& chunk = message.snapshot();
      if (chunk.id() == 0 || chunk.name() != files[0].substr(files[0].rfind('/') + 1)) continue;
      bytes.assign(chunk.data().begin(), chunk.data().end());
      return true;
    }
    return false;
  }));
  MemorySource source(bytes);
  const RingSnapshot snapshot = ReadRing(source, "copy");
  ASSERT_TRUE(snapshot.usable);
  EXPECT_EQ(snapshot.header.world_rank, 0);
}

TEST_F(AgentTest, DeletedRingIsPreserved) {
  Sleeper sleeper;
  const auto ring = MakeRing(sleeper.pid(), 0, 1);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  std::filesystem::remove_all(run_.path() + "/rings");
  EXPECT_EQ(agent_->PreserveRings(), 0u);
  EXPECT_FALSE(std::filesystem::is_empty(run_.path() + "/rings"));
}

// Sends a ring as the shim does.
void SendRing(const std::string& socket_path, int ring_fd, AgentHello hello, size_t bytes) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, socket_path.c_str());
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  iovec part = {&hello, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &ring_fd, sizeof(int));
  ASSERT_EQ(sendmsg(fd, &message, 0), static_cast<ssize_t>(bytes));
  close(fd);
}

AgentHello HelloOf(const std::string& name) {
  AgentHello hello = {};
  memcpy(hello.magic, kAgentMagic, sizeof(kAgentMagic));
  hello.version = 1;
  hello.pid = static_cast<uint32_t>(getpid());
  name.copy(hello.ring_name, sizeof(hello.ring_name) - 1);
  return hello;
}

TEST_F(AgentTest, ReceivesAMemfdOverTheSocketAndKeepsIt) {
  {
    FakeRing ring("", getpid(), ProcessStartTicks(getpid()), 0, 1);
    SendRing(run_.path() + "/" + kAgentSocket, ring.fd(), HelloOf("here-1-a.ring"),
             sizeof(AgentHello));
    ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  }
  EXPECT_EQ(agent_->PreserveRings(), 0u);
  EXPECT_TRUE(std::filesystem::exists(run_.path() + "/rings/here-1-a.ring.copy"));
}

// A ring in memory that an earlier agent received.
class AdoptedRingTest : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    agent_.reset();
    const std::string file = run_.path() + "/rings/" + kName;
    ring_ = std::make_unique<FakeRing>("", rank_.pid(), ProcessStartTicks(rank_.pid()), 0, 1, file);
    at_ = mmap(nullptr, FakeRing::kEnd, PROT_READ, MAP_SHARED, ring_->fd(), 0);
    ASSERT_NE(at_, MAP_FAILED);
    auto journal = JournalWriter::Open(run_.path() + "/" + kJournalFile);
    ASSERT_TRUE(journal) << journal.error();
    journal->Append(journal::ProcessSeen{.process = {}, .ring_name = kName, .at_ns = 1});
    MakeAgent(AgentOptions().parent_report_timeout_ns);
  }
  void TearDown() override { munmap(at_, FakeRing::kEnd); }

  // RingActivity() of a file in rings/; 0 if there is none.
  uint64_t ActivityOf(const std::string& name) const {
    const UniqueFd fd(open((run_.path() + "/rings/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return 0;
    FileSource source(fd.get());
    return ReadRing(source, name, ImageDepth::kState).activity;
  }
  uint64_t ActivityNow() const {
    FileSource source(ring_->fd());
    return ReadRing(source, kName, ImageDepth::kState).activity;
  }
  void AskForRings() {
    rpc::CollectorMessage request;
    request.mutable_snapshot()->set_request(5);
    transport_.Ask(request);
  }

  static constexpr char kName[] = "here-1-a.ring";
  static constexpr char kCopy[] = "here-1-a.ring.copy";
  Sleeper rank_;
  std::unique_ptr<FakeRing> ring_;
  void* at_ = nullptr;
};

TEST_F(AdoptedRingTest, IsWatchedThoughThereIsAnOlderCopy) {
  FakeRing copy(run_.path() + "/rings/" + kCopy, rank_.pid(), ProcessStartTicks(rank_.pid()), 0, 1);
  ring_->Enter(Operation::kBarrier, 1);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  EXPECT_EQ(agent_->seen(), 1u);
  ASSERT_TRUE(RunUntil([&] { return LastDigest(0) != nullptr; }));
  EXPECT_EQ(LastDigest(0)->activity(), ActivityNow());
}

TEST_F(AdoptedRingTest, IsCopiedWhenTheCollectorSuspectsSomething) {
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1 && LastDigest(0) != nullptr; }));
  EXPECT_EQ(ActivityOf(kCopy), 0u);
  AskForRings();
  ASSERT_TRUE(RunUntil([&] { return ActivityOf(kCopy) == ActivityNow(); }));
  EXPECT_EQ(ActivityOf(kName), 0u) << "a reader would take it for the ring itself";
}

TEST_F(AdoptedRingTest, IsCopiedAgainAtAVerdictAndAtASignal) {
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  AskForRings();
  ASSERT_TRUE(RunUntil([&] { return ActivityOf(kCopy) == ActivityNow(); }));
  ring_->Enter(Operation::kBarrier, 1);
  const auto sampled = [&] {
    return LastDigest(0) != nullptr && LastDigest(0)->activity() == ActivityNow();
  };
  ASSERT_TRUE(RunUntil(sampled));
  EXPECT_LT(ActivityOf(kCopy), ActivityNow());
  rpc::CollectorMessage verdict;
  verdict.mutable_verdict()->set_age_ns(0);
  transport_.Ask(verdict);
  ASSERT_TRUE(RunUntil([&] { return ActivityOf(kCopy) == ActivityNow(); }));
  ring_->Return();
  ASSERT_TRUE(RunUntil(sampled));
  agent_->NoteInterrupted(/*by_rollcall=*/false, Now(CLOCK_MONOTONIC));
  ASSERT_TRUE(RunUntil([&] { return ActivityOf(kCopy) == ActivityNow(); }));
}

TEST_F(AdoptedRingTest, IsAFileAfterTheEnd) {
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  AskForRings();
  ASSERT_TRUE(RunUntil([&] { return ActivityOf(kCopy) != 0; }));
  ring_->Enter(Operation::kBarrier, 1);
  rank_.End(SIGKILL);
  ASSERT_TRUE(RunUntil([&] { return ActivityOf(kName) == ActivityNow(); }));
  EXPECT_EQ(ActivityOf(kCopy), 0u);
}

TEST_F(AgentTest, RefusesMessagesOtherThanHello) {
  FakeRing ring("", getpid(), ProcessStartTicks(getpid()), 0, 1);
  const std::string path = run_.path() + "/" + kAgentSocket;
  AgentHello wrong_magic = HelloOf("here-1-a.ring");
  wrong_magic.magic[0] = 'X';
  SendRing(path, ring.fd(), wrong_magic, sizeof(AgentHello));
  SendRing(path, ring.fd(), HelloOf("../../escape.ring"), sizeof(AgentHello));
  SendRing(path, ring.fd(), HelloOf("here-1-b.ring"), sizeof(AgentHello) / 2);
  // This message is the last in the queue: once it is received, the others have been refused.
  SendRing(path, ring.fd(), HelloOf("here-1-c.ring"), sizeof(AgentHello));
  ASSERT_TRUE(RunUntil([&] { return agent_->seen() > 0; }));
  EXPECT_EQ(agent_->seen(), 1u);
}

TEST_F(AgentTest, ReadsRingsDespiteAForeignFile) {
  Sleeper sleeper;
  const int fd = open((run_.path() + "/rings/other.ring").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(ftruncate(fd, 8192), 0);
  close(fd);
  const auto ring = MakeRing(sleeper.pid(), 0, 1);
  ASSERT_TRUE(RunUntil([&] { return agent_->alive() == 1; }));
  EXPECT_EQ(agent_->seen(), 2u);
}

TEST_F(AgentTest, ShutsDownOnRequest) {
  rpc::CollectorMessage message;
  message.mutable_shutdown()->set_keep(false);
  transport_.Ask(message);
  ASSERT_TRUE(RunUntil([&] { return agent_->shut_down(); }));
  EXPECT_FALSE(agent_->shut_down_keeps());
}

}  // namespace
}  // namespace rollcall::agent
