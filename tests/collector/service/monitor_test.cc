// SPDX-License-Identifier: Apache-2.0
// The monitor with fake agents.
#include "collector/service/monitor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collector/base/clock.h"
#include "collector/import/journal.h"
#include "collector/import/ring_reader.h"
#include "proto/ring_format.h"
#include "tests/collector/service/fake_agent.h"
#include "tests/support/ring_file_builder.h"

namespace rollcall::service {
namespace {

TEST(MonitorTest, RefusesAgentThatDoesNotGreet) {
  Monitor monitor{MonitorOptions{}};
  const auto link = std::make_shared<FakeLink>();
  monitor.Message(monitor.Join(link), WaitingDigest());
  EXPECT_EQ(link->WaitForRefusal(), "no greeting");
}

TEST(MonitorTest, RequestsSnapshotOnSuspicionAndRefusesOversizedAnswer) {
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

// Ranks of one world that end during a diagnosis, and the ranks that the reports call dead.
class RankEndsTest : public ::testing::Test {
 protected:
  RankEndsTest() {
    MonitorOptions options;
    options.on_report = [this](const Trace&, const Report& report) {
      const std::lock_guard lock(mutex_);
      for (const Finding& finding : report.findings) {
        if (finding.kind == VerdictKind::kRankDied) died_.push_back(finding.culprits);
        if (finding.kind == VerdictKind::kUncaughtException) raised_ = finding.title;
      }
      changed_.notify_all();
    };
    options.add_to_trace = [this](Trace* trace, bool job_ended) {
      EXPECT_FALSE(job_ended);
      const std::lock_guard lock(mutex_);
      if (exception_) trace->processes[ProcessOf(*trace, 0, 0)].exception = exception_;
    };
    monitor_ = std::make_unique<Monitor>(std::move(options));
    agent_ = monitor_->Join(link_);
    Send(Hello());
  }
  ~RankEndsTest() override { monitor_->Leave(agent_); }

  void Send(rpc::AgentMessage message) { monitor_->Message(agent_, std::move(message)); }
  // Reports all ranks as waiting. Returns the number of the collector's first request.
  uint64_t Start(std::vector<std::vector<uint8_t>> rings) {
    rings_ = std::move(rings);
    for (size_t i = 0; i < rings_.size(); ++i) {
      Send(WaitingDigest(Id(i), static_cast<int32_t>(rings_.size())));
    }
    return link_->WaitForSnapshotRequest();
  }
  uint64_t Id(size_t rank) const { return IdOf(rings_[rank]); }
  void SendRings(uint64_t request, const std::vector<bool>& alive) {
    for (size_t i = 0; i < alive.size(); ++i) Send(Snapshot(request, Id(i), rings_[i], alive[i]));
  }
  // The culprits in all reports so far.
  std::vector<std::vector<int32_t>> Died() {
    const std::lock_guard lock(mutex_);
    return died_;
  }
  // The exception of rank 0, which no ring has.
  void AddException(const std::string& type) {
    const std::lock_guard lock(mutex_);
    exception_ = {.kind = ring::ExceptionKind::kPython, .type = type, .message = ""};
  }
  std::string WaitUntilOneRaised() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !raised_.empty(); });
    return raised_;
  }
  bool WaitUntilOneDied() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !died_.empty(); });
  }

  const std::shared_ptr<FakeLink> link_ = std::make_shared<FakeLink>();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<int32_t>> died_;
  std::optional<UncaughtException> exception_;
  std::string raised_;  // the title of the finding
  std::vector<std::vector<uint8_t>> rings_;
  std::unique_ptr<Monitor> monitor_;
  uint64_t agent_ = 0;
};

// What a rank does after its ring was copied is in no ring that the collector has: it may have
// finalized rather than died.
TEST_F(RankEndsTest, EndNewerThanTheRingIsReportedByTheNextDiagnosis) {
  const uint64_t first = Start({RingInBarrier(0, false), RingInBarrier(1, true)});
  ASSERT_NE(first, 0u);
  SendRings(first, {true, true});
  Send(EndInJournal(Id(0)));
  Send(LastSnapshot(first));

  Send(EndedDigest(Id(0)));
  const uint64_t second = link_->WaitForSnapshotRequest(first);
  ASSERT_NE(second, 0u);
  EXPECT_THAT(Died(), ::testing::IsEmpty());
  SendRings(second, {false, true});
  Send(LastSnapshot(second));
  EXPECT_TRUE(WaitUntilOneDied());
}

TEST_F(RankEndsTest, ReportHasWhatIsAddedToItsTrace) {
  AddException("BadShard");
  const uint64_t first = Start({RingInBarrier(0, false), RingInBarrier(1, true)});
  ASSERT_NE(first, 0u);
  Send(EndInJournal(Id(0)));
  SendRings(first, {false, true});
  Send(LastSnapshot(first));
  EXPECT_THAT(WaitUntilOneRaised(), ::testing::HasSubstr("rank 0 raised BadShard"));
  EXPECT_THAT(Died(), ::testing::IsEmpty());
}

// Rank 0 ended after its ring was read. Rank 2, which the launcher killed because of that, ended
// before its ring was read: in these rings, only rank 2 is dead.
TEST_F(RankEndsTest, DeadRankIsNotReportedBeforeTheOtherEndedRankIsSeen) {
  const uint64_t first =
      Start({RingInBarrier(0, false, 3), RingInBarrier(1, true, 3), RingInBarrier(2, false, 3)});
  ASSERT_NE(first, 0u);
  rpc::AgentMessage killed;
  killed.mutable_journal()->set_lines(FormatJournalLine(journal::ProcessEnded{
      {Id(2), "here", 3, 2}, {.how = ProcessEnd::How::kSignaled, .status = 9}}));
  Send(EndInJournal(Id(0)));
  Send(killed);
  SendRings(first, {true, true, false});
  Send(LastSnapshot(first));

  Send(EndedDigest(Id(0)));
  Send(EndedDigest(Id(2)));
  const uint64_t second = link_->WaitForSnapshotRequest(first);
  ASSERT_NE(second, 0u);
  EXPECT_THAT(Died(), ::testing::IsEmpty());
  SendRings(second, {false, true, false});
  Send(LastSnapshot(second));
  EXPECT_TRUE(WaitUntilOneDied());
  EXPECT_THAT(Died(), ::testing::Each(::testing::Contains(0)));
}

// Many nodes may report the same problem.
TEST(MonitorTest, ReportsAgentProblemOnceAndSanitizesIt) {
  std::vector<std::string> notes;  // owned by the monitor's thread until Finish() returns
  MonitorOptions options;
  options.on_note = [&](const std::string& note) { notes.push_back(note); };
  Monitor monitor{std::move(options)};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  rpc::AgentMessage problem;
  problem.mutable_problem()->set_text("no inotify\nrollcall: hung");
  monitor.Message(agent, problem);
  monitor.Message(agent, problem);
  for (int i = 0; i < 100; ++i) {
    problem.mutable_problem()->set_text(fmt::format("no ring {}", i));
    monitor.Message(agent, problem);
  }
  monitor.Finish();
  ASSERT_EQ(notes.size(), 16u);
  EXPECT_EQ(notes[0], "the agent on here: no inotify\uFFFDrollcall: hung");
  EXPECT_EQ(notes[1], "the agent on here: no ring 0");
}

// Times in a node's rings and ends are shifted by the clock offset in its journal.
TEST(MonitorTest, CorrectsTimesOfANodeByItsClockOffset) {
  constexpr int64_t kAheadNs = 10'000'000'000;
  constexpr int64_t kEndNs = 1'700'000'000'000'000'000;
  const std::vector<uint8_t> ring = RingInBarrier(0, false);
  const auto final_trace = [&](int64_t ahead_ns) {
    Monitor monitor{MonitorOptions{}};
    const auto link = std::make_shared<FakeLink>();
    const uint64_t agent = monitor.Join(link);
    monitor.Message(agent, Hello());
    rpc::AgentMessage journal;
    journal.mutable_journal()->set_lines(
        FormatJournalLine(journal::Clock{"here", {.offset_ns = ahead_ns, .error_ns = 5}, 1}) +
        FormatJournalLine(journal::ProcessEnded{
            {IdOf(ring), "here", 1, 0}, {.how = ProcessEnd::How::kExited, .at_ns = kEndNs}}));
    monitor.Message(agent, journal);
    auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
    const uint64_t request = link->WaitForSnapshotRequest();
    monitor.Message(agent, Snapshot(request, IdOf(ring), ring, false));
    monitor.Message(agent, LastSnapshot(request));
    return finished.get().trace;
  };
  const Trace same = final_trace(0);
  const Trace ahead = final_trace(kAheadNs);
  ASSERT_EQ(ahead.processes.size(), 1u);
  EXPECT_EQ(ahead.processes[0].end.at_ns, kEndNs - kAheadNs);
  EXPECT_EQ(ahead.processes[0].lifecycle.at(0).start_ns,
            same.processes[0].lifecycle.at(0).start_ns - kAheadNs);
  EXPECT_EQ(ahead.processes[0].clock, (NodeClock{.offset_ns = kAheadNs, .error_ns = 5}));
}

TEST(MonitorTest, AnswersHeartbeatWithTheTime) {
  Monitor monitor{MonitorOptions{}};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  rpc::AgentMessage question;
  question.mutable_heartbeat()->set_realtime_ns(77);
  question.mutable_heartbeat()->set_monotonic_ns(78);
  question.mutable_heartbeat()->set_asks_clock(true);
  const int64_t before_ns = Now(CLOCK_REALTIME);
  monitor.Message(agent, question);
  const rpc::Clock answer = link->WaitForClock();
  EXPECT_EQ(answer.asked_realtime_ns(), 77);
  EXPECT_EQ(answer.asked_monotonic_ns(), 78);
  EXPECT_GE(answer.collector_realtime_ns(), before_ns);
  EXPECT_LE(answer.collector_realtime_ns(), Now(CLOCK_REALTIME));
  monitor.Leave(agent);
}

// The ring of one of three ranks, which waits in a barrier on the world or on its duplicate.
std::vector<uint8_t> RingInBarrierOn(int32_t rank, bool on_duplicate) {
  RingFileBuilder builder(rank, 3);
  const uint32_t thread = builder.AddThread(100);
  const uint32_t world = builder.AddMember(0xfeed, rank, 3, ring::kIsWorld);
  const uint32_t duplicate = builder.AddMember(0xbeef, rank, 3, 0);
  ring::Record record = builder.MakeRecord(Operation::kInit, 1000);
  builder.Append(thread, record);
  const uint32_t on = on_duplicate ? duplicate : world;
  record = builder.MakeRecord(Operation::kBarrier, 2000, on, 1);
  builder.Open(thread, builder.Append(thread, record));
  builder.members[on - 1].entered = 1;
  builder.CountCalls();
  return builder.Build();
}

// On a busy machine, a rank that was quiet in its digest may not be quiet in the answer.
TEST(MonitorTest, ReportsNoHangUntilSnapshotsAreQuiet) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Certainty> certainties;  // of all reports
  MonitorOptions options;
  options.on_report = [&](const Trace&, const Report& report) {
    const std::lock_guard lock(mutex);
    for (const Finding& finding : report.findings) certainties.push_back(finding.certainty);
    changed.notify_all();
  };
  std::vector<std::vector<uint8_t>> rings;
  for (const int32_t rank : {0, 1, 2}) rings.push_back(RingInBarrierOn(rank, rank == 2));

  Monitor monitor{std::move(options)};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  for (const auto& ring : rings) monitor.Message(agent, WaitingDigest(IdOf(ring), 3));
  uint64_t request = 0;
  for (const bool quiet : {false, false, false, true}) {
    request = link->WaitForSnapshotRequest(request);
    ASSERT_NE(request, 0u);
    {
      const std::lock_guard lock(mutex);
      EXPECT_THAT(certainties, ::testing::IsEmpty());
    }
    for (const auto& ring : rings) {
      monitor.Message(agent, Snapshot(request, IdOf(ring), ring, true, quiet));
    }
    monitor.Message(agent, LastSnapshot(request));
  }
  std::unique_lock lock(mutex);
  EXPECT_TRUE(
      changed.wait_for(lock, std::chrono::seconds(20), [&] { return !certainties.empty(); }));
  EXPECT_THAT(certainties, ::testing::Each(Certainty::kProven));
  lock.unlock();
  monitor.Leave(agent);
}

// A job of three ranks that wait in a cycle of barriers, and the notes of its monitor.
class BarrierCycleTest : public ::testing::Test {
 protected:
  BarrierCycleTest() {
    for (const int32_t rank : {0, 1, 2}) rings_.push_back(RingInBarrierOn(rank, rank == 2));
    MonitorOptions options;
    options.times.kill_after_ns = 0;
    options.on_report = [this](const Trace&, const Report& report) {
      Note(report.status == Report::Status::kHung ? "hung" : "report");
    };
    options.on_update = [this](const Trace&, const Report&) { Note("update"); };
    options.on_withdrawal = [this](const Withdrawal& withdrawal) { Note(withdrawal.Text()); };
    if (HasEnder()) options.on_due = [this](const Report&) { Note("due"); };
    monitor_.emplace(std::move(options));
    agent_ = monitor_->Join(link_);
    monitor_->Message(agent_, Hello());
    for (size_t rank = 0; rank < 3; ++rank) Digest(rank, 0);
  }
  ~BarrierCycleTest() override { monitor_->Leave(agent_); }

  static bool HasEnder() {
    return std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) ==
           "CallsOnDueForDueFinding";
  }
  void Digest(size_t rank, uint64_t activity) {
    rpc::AgentMessage message = WaitingDigest(IdOf(rings_[rank]), 3);
    message.mutable_digests()->mutable_processes(0)->set_activity(activity);
    message.mutable_digests()->mutable_processes(0)->set_quiet(activity == 0);
    monitor_->Message(agent_, message);
  }
  // Answers the next request. A rank that moved is not quiet, unless it has ended.
  void Answer(const std::vector<uint64_t>& activities = {0, 0, 0}, bool alive = true) {
    request_ = link_->WaitForSnapshotRequest(request_);
    ASSERT_NE(request_, 0u);
    for (size_t rank = 0; rank < 3; ++rank) {
      const bool quiet = activities[rank] == 0 || !alive;
      rpc::AgentMessage message =
          Snapshot(request_, IdOf(rings_[rank]), rings_[rank], alive, quiet);
      message.mutable_snapshot()->set_activity(activities[rank]);
      monitor_->Message(agent_, message);
    }
    monitor_->Message(agent_, LastSnapshot(request_));
  }
  void Note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(what);
    changed_.notify_all();
  }
  bool WaitFor(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      return std::find(notes_.begin(), notes_.end(), what) != notes_.end();
    });
  }
  std::vector<std::string> Notes() {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  Monitor::Final Finish(const std::vector<uint64_t>& activities, const FinalPass& look = {}) {
    auto finished = std::async(std::launch::async, [&] { return monitor_->Finish(look); });
    Answer(activities, /*alive=*/false);
    return finished.get();
  }

  const std::string kWithdrawn = "rank 1 moved again; the verdict above is withdrawn";
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> notes_;
  std::vector<std::vector<uint8_t>> rings_;
  const std::shared_ptr<FakeLink> link_ = std::make_shared<FakeLink>();
  uint64_t agent_ = 0;
  uint64_t request_ = 0;
  std::optional<Monitor> monitor_;
};

TEST_F(BarrierCycleTest, MovementWithdrawsTheVerdictAndTriggersADiagnosis) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  Digest(1, 8);
  ASSERT_TRUE(WaitFor(kWithdrawn));
  Answer({0, 8, 0});
  EXPECT_TRUE(WaitFor("update"));
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung", kWithdrawn, "update"));
}

TEST_F(BarrierCycleTest, MovementSeenOnlyInTheFinalSnapshotWithdrawsTheVerdict) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  Finish({0, 8, 0});
  EXPECT_THAT(Notes(), ::testing::Contains(kWithdrawn));
}

TEST_F(BarrierCycleTest, KillingARankInItsCallDoesNotWithdrawTheVerdict) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  EXPECT_TRUE(Finish({0, 0, 0}).any_findings);
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung"));
}

TEST_F(BarrierCycleTest, MovementAfterAnInterruptDoesNotWithdrawTheVerdict) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  monitor_->NoteInterrupted();
  Digest(1, 8);
  EXPECT_TRUE(Finish({0, 8, 0}).any_findings);
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung"));
}

TEST_F(BarrierCycleTest, CallsOnDueForDueFinding) {
  Answer();
  ASSERT_TRUE(WaitFor("due"));
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung", "due"));
}

TEST_F(BarrierCycleTest, RequestedDiagnosisRunsBeforeItsCallback) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  monitor_->DiagnoseNow([this] { Note("then"); });
  Answer();
  ASSERT_TRUE(WaitFor("then"));
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung", "then"));
}

// Messages during a diagnosis are handled at once; the diagnosis uses the state before them.
TEST_F(BarrierCycleTest, HandlesMessagesDuringADiagnosis) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  std::atomic<bool> stop = false;
  std::thread others([&] {
    for (uint64_t i = 0; i < 20'000 && !stop; ++i) {
      monitor_->Message(agent_, WaitingDigest(1000 + i % 64, 3));
    }
  });
  for (int look = 0; look < 3; ++look) {
    const std::string then = fmt::format("look {}", look);
    monitor_->DiagnoseNow([this, then] { Note(then); });
    Answer();
    ASSERT_TRUE(WaitFor(then));
  }
  stop = true;
  others.join();
  EXPECT_THAT(Notes(), ::testing::Not(::testing::Contains(kWithdrawn)));
}

// The journal tells which ranks were quiet when the time was up. All are dead later in either case.
TEST_F(BarrierCycleTest, TimedOutJobHungOnlyIfItsRanksWereQuiet) {
  const FinalPass out_of_time{.diagnose = {.time_limit_ns = 1'000'000'000}};
  for (const bool stood_still : {false, true}) {
    Monitor monitor{MonitorOptions{}};
    const auto link = std::make_shared<FakeLink>();
    const uint64_t agent = monitor.Join(link);
    monitor.Message(agent, Hello());
    auto finished = std::async(std::launch::async, [&] { return monitor.Finish(out_of_time); });
    const uint64_t request = link->WaitForSnapshotRequest();
    for (size_t rank = 0; rank < 3; ++rank) {
      const uint64_t id = IdOf(rings_[rank]);
      MemorySource source(rings_[rank]);
      const uint64_t activity = ReadRing(source, "x.ring").activity;
      rpc::AgentMessage journal;
      if (stood_still) {
        journal.mutable_journal()->set_lines(
            FormatJournalLine(journal::Quiet{{id, "here", 1, 0}, activity, 5}));
      }
      const ProcessEnd killed = {
          .how = ProcessEnd::How::kSignaled, .status = 15, .by_launcher = true};
      journal.mutable_journal()->mutable_lines()->append(
          FormatJournalLine(journal::ProcessEnded{{id, "here", 1, 0}, killed}));
      monitor.Message(agent, journal);
      monitor.Message(agent, Snapshot(request, id, rings_[rank], false));
    }
    monitor.Message(agent, LastSnapshot(request));
    const Monitor::Final final = finished.get();
    ASSERT_EQ(final.report.findings.size(), 1u);
    const Finding& finding = final.report.findings[0];
    EXPECT_EQ(finding.hangs, stood_still);
    EXPECT_EQ(finding.kind == VerdictKind::kTimedOut, !stood_still);
    monitor.Leave(agent);
  }
}

// The answer of a node with or without the binary.
rpc::AgentMessage Symbols(const rpc::SymbolRequest& request, bool has_binary) {
  rpc::AgentMessage message;
  message.mutable_symbols()->set_request(request.request());
  for (int i = 0; i < request.addresses_size(); ++i) {
    rpc::SymbolFrame* frame = message.mutable_symbols()->add_addresses()->add_frames();
    const FrameDetail detail = has_binary ? FrameDetail::kSourceLine : FrameDetail::kModule;
    frame->set_detail(static_cast<uint32_t>(detail));
    frame->set_function(has_binary ? "step" : "");
    frame->set_line(has_binary ? 7 : 0);
  }
  return message;
}

// The node that is asked first may not have the program's binary.
TEST(MonitorTest, AsksAnotherNodeIfOneCannotSymbolize) {
  Monitor monitor{MonitorOptions{}};
  const std::shared_ptr<FakeLink> links[] = {std::make_shared<FakeLink>(),
                                             std::make_shared<FakeLink>()};
  uint64_t agents[2];
  for (size_t i = 0; i < 2; ++i) {
    agents[i] = monitor.Join(links[i]);
    rpc::AgentMessage hello = Hello();
    hello.mutable_hello()->set_host(i == 0 ? "login" : "compute");
    monitor.Message(agents[i], hello);
  }
  auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
  const uint64_t request = links[0]->WaitForSnapshotRequest();
  monitor.Message(agents[1], Snapshot(request, 1, MakeFullRing(0, 1).Build(), false));
  for (const uint64_t agent : agents) monitor.Message(agent, LastSnapshot(request));
  const rpc::SymbolRequest first = links[0]->WaitForSymbolRequest();
  ASSERT_EQ(first.addresses_size(), 3);
  monitor.Message(agents[0], Symbols(first, false));
  const rpc::SymbolRequest second = links[1]->WaitForSymbolRequest();
  ASSERT_EQ(second.addresses_size(), 3);
  monitor.Message(agents[1], Symbols(second, true));
  const Monitor::Final final = finished.get();
  ASSERT_EQ(final.trace.codes.size(), 3u);
  for (const Code& code : final.trace.codes) EXPECT_EQ(code.frames.at(0).line, 7);
}

// A job of one rank that called a barrier and finalized.
std::vector<uint8_t> RingThatFinalized() {
  RingFileBuilder builder(0, 1);
  const uint32_t path = builder.AddPath({{builder.AddModule("/bin/app"), 0x1234}});
  const uint32_t thread = builder.AddThread(100);
  const uint32_t world = builder.AddMember(0xfeed, 0, 1, ring::kIsWorld);
  ring::Record record = builder.MakeRecord(Operation::kBarrier, 2000, world, 1);
  record.call_path = path;
  builder.Append(thread, record);
  builder.members[world - 1].entered = builder.members[world - 1].completed = 1;
  builder.header.phase = static_cast<uint64_t>(ring::Phase::kFinalized);
  builder.CountCalls();
  return builder.Build();
}

// Reading debug information may take seconds.
TEST(MonitorTest, FinishedJobIsSymbolizedOnlyIfNamesAreShown) {
  for (const bool name_code : {false, true}) {
    Monitor monitor{MonitorOptions{}};
    const auto link = std::make_shared<FakeLink>();
    const uint64_t agent = monitor.Join(link);
    monitor.Message(agent, Hello());
    auto finished =
        std::async(std::launch::async, [&] { return monitor.Finish({.name_code = name_code}); });
    const uint64_t request = link->WaitForSnapshotRequest();
    monitor.Message(agent, Snapshot(request, 1, RingThatFinalized(), false));
    monitor.Message(agent, LastSnapshot(request));
    if (name_code) monitor.Message(agent, Symbols(link->WaitForSymbolRequest(), true));
    const Monitor::Final final = finished.get();
    EXPECT_EQ(final.report.status, Report::Status::kFinished);
    ASSERT_EQ(final.trace.codes.size(), 1u);
    const Code& code = final.trace.codes[0];
    EXPECT_EQ(code.frames.empty() ? 0 : code.frames[0].line, name_code ? 7u : 0u);
    EXPECT_EQ(link->AskedForSymbols(), name_code);
  }
}

// A problem of the final trace whose message contains `what`; "" if there is none.
std::string ProblemOf(const Monitor::Final& final, const std::string& what) {
  for (const Problem& problem : final.trace.problems) {
    if (problem.message.find(what) != std::string::npos) return problem.message;
  }
  return "";
}

TEST(MonitorTest, ReportsWhatExceedsTheMemoryLimit) {
  const std::vector<uint8_t> ring = RingInBarrier(0, true);
  MonitorOptions options;
  options.max_held_bytes = (uint64_t{1} << 20) + ring.size() / 2;
  Monitor monitor{options};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  rpc::AgentMessage journal;
  journal.mutable_journal()->set_lines(std::string(1 << 18, '\n'));
  for (int i = 0; i < 2; ++i) monitor.Message(agent, journal);
  auto finished = std::async(std::launch::async, [&] { return monitor.Finish(); });
  const uint64_t request = link->WaitForSnapshotRequest();
  std::vector<uint8_t> second = ring;
  second.resize(1 << 20);
  monitor.Message(agent, Snapshot(request, 1, ring, false));
  monitor.Message(agent, Snapshot(request, 2, second, false));
  monitor.Message(agent, LastSnapshot(request));
  const Monitor::Final final = finished.get();
  EXPECT_EQ(final.trace.processes.size(), 1u);
  EXPECT_EQ(ProblemOf(final, "records of"),
            "records of 1 rank were not fetched: the collector holds 1 MiB at most");
  EXPECT_EQ(ProblemOf(final, "lines were"),
            "lines were dropped: the collector holds 1 MiB at most");
}

// Containers may all be called localhost and have the same run directory path.
TEST(MonitorTest, AcceptsTwoNodesOfTheSameName) {
  Monitor monitor{MonitorOptions{}};
  for (const uint64_t id : {1, 2}) {
    rpc::AgentMessage hello = Hello();
    hello.mutable_hello()->set_agent_id(id);
    const uint64_t agent = monitor.Join(std::make_shared<FakeLink>());
    monitor.Message(agent, hello);
    const std::vector<uint8_t> ring = RingInBarrier(static_cast<int32_t>(id) - 1, true);
    monitor.Message(agent, WaitingDigest(IdOf(ring), 2));
  }
  const auto third = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(third);
  rpc::AgentMessage again = Hello();
  again.mutable_hello()->set_agent_id(2);
  monitor.Message(agent, again);  // the second agent, reconnected, without digests yet
  const uint64_t request = third->WaitForSnapshotRequest();
  EXPECT_NE(request, 0u) << "the first one's rank waits";
  monitor.Leave(agent);
}

// Agents with the same name and path and without ids.
TEST(MonitorTest, ReplacedAgentIsRefusedUntilItsSuccessorLeaves) {
  Monitor monitor{MonitorOptions{}};
  const auto attach = [&](uint32_t pid, bool resumed, const std::shared_ptr<FakeLink>& link) {
    rpc::AgentMessage hello = Hello();
    hello.mutable_hello()->set_pid(pid);
    hello.mutable_hello()->set_resumed(resumed);
    const uint64_t agent = monitor.Join(link);
    monitor.Message(agent, hello);
    return agent;
  };
  const auto first = std::make_shared<FakeLink>();
  attach(1, false, first);
  const auto successor = std::make_shared<FakeLink>();
  const uint64_t second = attach(2, false, successor);
  EXPECT_EQ(first->WaitForRefusal(), "another agent took its place");
  const auto early = std::make_shared<FakeLink>();
  attach(1, true, early);
  EXPECT_EQ(early->WaitForRefusal(), "another agent took its place");
  monitor.Leave(second);
  const auto back = std::make_shared<FakeLink>();
  const uint64_t agent = attach(1, true, back);
  const std::vector<uint8_t> ring = RingInBarrier(0, true);
  monitor.Message(agent, WaitingDigest(IdOf(ring), 2));
  EXPECT_NE(back->WaitForSnapshotRequest(), 0u);
  monitor.Leave(agent);
}

TEST(MonitorTest, SanitizesHostNameOfAgent) {
  MonitorOptions options;
  options.lost_after_ns = 1'000'000;
  std::promise<std::string> note;
  options.on_note = [&](const std::string& text) { note.set_value(text); };
  Monitor monitor{options};
  rpc::AgentMessage hello = Hello();
  hello.mutable_hello()->set_host("node\x1b[2J\nrollcall: no deadlock");
  monitor.Message(monitor.Join(std::make_shared<FakeLink>()), hello);
  const std::string text = note.get_future().get();
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

// A program that runs for a few milliseconds may end before its agent has connected.
TEST(MonitorTest, ReadsJobThatEndsBeforeTheFirstAgentConnects) {
  Monitor monitor{MonitorOptions{}};
  auto finished =
      std::async(std::launch::async, [&] { return monitor.Finish({.await_agent = true}); });
  const bool early = finished.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  const uint64_t request = early ? 0 : link->WaitForSnapshotRequest();
  monitor.Message(agent, Snapshot(request, 1, RingInBarrier(0, false), false));
  monitor.Message(agent, LastSnapshot(request));
  EXPECT_TRUE(finished.get().ranks_seen);
}

TEST(MonitorTest, FinishesWithoutAgents) {
  Monitor monitor{MonitorOptions{}};
  const Monitor::Final final = monitor.Finish();
  EXPECT_FALSE(final.ranks_seen);
  EXPECT_FALSE(final.any_findings);
}

}  // namespace
}  // namespace rollcall::service
