// The monitor with agents that are made up.
#include "collector/service/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
#include "collector/service/snapshot_set.h"
#include "proto/ring_format.h"
#include "tests/support/ring_file_builder.h"

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

  // The request for a snapshot, once one after `last` has come; 0 after too long.
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

rpc::AgentMessage Hello(uint32_t protocol = 1) {
  rpc::AgentMessage message;
  message.mutable_hello()->set_protocol(protocol);
  message.mutable_hello()->set_host("here");
  return message;
}

rpc::AgentMessage WaitingDigest(uint64_t id = 1, int32_t size = 1) {
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

// One of two ranks, which has been in a barrier, or is still. No call paths: nobody would answer
// what they mean.
std::vector<uint8_t> RingInBarrier(int32_t rank, bool inside) {
  RingFileBuilder builder(rank, 2);
  const uint32_t thread = builder.AddThread(100);
  const uint32_t world = builder.AddMember(0xfeed, rank, 2, ring::kIsWorld);
  ring::Record record = builder.MakeRecord(Operation::kInit, 1000);
  builder.Append(thread, record);
  if (inside) {
    record = builder.MakeRecord(Operation::kBarrier, 2000, world, 1);
    builder.Open(thread, builder.Append(thread, record));
    builder.members[world - 1].entered = 1;
  }
  builder.CountCalls();
  return builder.Build();
}

// All of a ring in one piece, as the answer's only one.
rpc::AgentMessage Snapshot(uint64_t request, uint64_t id, const std::vector<uint8_t>& ring,
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

rpc::AgentMessage LastSnapshot(uint64_t request) {
  rpc::AgentMessage message;
  message.mutable_snapshot()->set_request(request);
  message.mutable_snapshot()->set_last(true);
  return message;
}

uint64_t IdOf(const std::vector<uint8_t>& ring) {
  MemorySource source(ring);
  return RingId(ReadRing(source, "x.ring").header);
}

rpc::AgentMessage EndInJournal(uint64_t id) {
  rpc::AgentMessage journal;
  journal.mutable_journal()->set_lines(FormatJournalLine(
      journal::ProcessEnded{{id, "here", 1, 0}, {.how = ProcessEnd::How::kExited, .status = 3}}));
  return journal;
}

rpc::AgentMessage EndedDigest(uint64_t id) {
  rpc::AgentMessage ended = WaitingDigest(id, 2);
  ended.mutable_digests()->mutable_processes(0)->set_ended(true);
  return ended;
}

// What a rank does between the copying of its ring and its end is in no ring that the collector
// has: it may have finalized, and has not died.
TEST(MonitorTest, AnEndThatIsNewerThanTheRingWaitsForTheNextLook) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> kinds;  // of all reports
  MonitorOptions options;
  options.on_report = [&](const Trace&, const Report& report) {
    const std::lock_guard lock(mutex);
    for (const Finding& finding : report.findings) kinds.emplace_back(KindName(finding.kind));
    changed.notify_all();
  };
  const std::vector<std::vector<uint8_t>> rings = {RingInBarrier(0, false), RingInBarrier(1, true)};
  const uint64_t ids[] = {IdOf(rings[0]), IdOf(rings[1])};

  Monitor monitor{std::move(options)};
  const auto link = std::make_shared<FakeLink>();
  const uint64_t agent = monitor.Join(link);
  monitor.Message(agent, Hello());
  for (const uint64_t id : ids) monitor.Message(agent, WaitingDigest(id, 2));
  const uint64_t first = link->WaitForSnapshotRequest();
  ASSERT_NE(first, 0u);
  for (size_t i = 0; i < 2; ++i) monitor.Message(agent, Snapshot(first, ids[i], rings[i], true));
  monitor.Message(agent, EndInJournal(ids[0]));
  monitor.Message(agent, LastSnapshot(first));

  monitor.Message(agent, EndedDigest(ids[0]));
  const uint64_t second = link->WaitForSnapshotRequest(first);
  ASSERT_NE(second, 0u);
  {
    const std::lock_guard lock(mutex);
    EXPECT_THAT(kinds, ::testing::Not(::testing::Contains("rank-died")));
  }
  monitor.Message(agent, Snapshot(second, ids[0], rings[0], false));
  monitor.Message(agent, Snapshot(second, ids[1], rings[1], true));
  monitor.Message(agent, LastSnapshot(second));
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] {
    return std::find(kinds.begin(), kinds.end(), "rank-died") != kinds.end();
  }));
  lock.unlock();
  monitor.Leave(agent);
}

// The rings and ends of a node are what its journal says of its clock apart.
TEST(MonitorTest, ANodesTimesAreCorrectedByItsClock) {
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

TEST(MonitorTest, AnswersWithTheTime) {
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

// One of three ranks, which waits in a barrier on the world or on its duplicate.
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

// A busy machine: who was quiet by its digest is not by the rings that come with the answer.
TEST(MonitorTest, NothingHangsBeforeTwoQuietLooks) {
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

// A job of three ranks in a cycle of barriers, and what its monitor said of it.
class CycleTest : public ::testing::Test {
 protected:
  CycleTest() {
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
  ~CycleTest() override { monitor_->Leave(agent_); }

  static bool HasEnder() {
    return std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) == "IsDue";
  }
  void Digest(size_t rank, uint64_t activity) {
    rpc::AgentMessage message = WaitingDigest(IdOf(rings_[rank]), 3);
    message.mutable_digests()->mutable_processes(0)->set_activity(activity);
    message.mutable_digests()->mutable_processes(0)->set_quiet(activity == 0);
    monitor_->Message(agent_, message);
  }
  // Answers the next request. Who moved is not quiet, or has ended.
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

TEST_F(CycleTest, AMoveWithdrawsTheVerdictAndTheStateIsLookedAtAnew) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  Digest(1, 8);
  ASSERT_TRUE(WaitFor(kWithdrawn));
  Answer({0, 8, 0});
  EXPECT_TRUE(WaitFor("update"));
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung", kWithdrawn, "update"));
}

TEST_F(CycleTest, AMoveThatOnlyTheLastLookShowsWithdrawsIt) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  Finish({0, 8, 0});
  EXPECT_THAT(Notes(), ::testing::Contains(kWithdrawn));
}

TEST_F(CycleTest, WhoIsKilledInItsCallWithdrawsNothing) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  EXPECT_TRUE(Finish({0, 0, 0}).any_findings);
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung"));
}

TEST_F(CycleTest, WhatComesAfterAnInterruptWithdrawsNothing) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  monitor_->NoteInterrupted();
  Digest(1, 8);
  EXPECT_TRUE(Finish({0, 8, 0}).any_findings);
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung"));
}

TEST_F(CycleTest, IsDue) {
  Answer();
  ASSERT_TRUE(WaitFor("due"));
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung", "due"));
}

TEST_F(CycleTest, ALookThatIsAskedForComesBeforeWhatFollowsIt) {
  Answer();
  ASSERT_TRUE(WaitFor("hung"));
  monitor_->DiagnoseNow([this] { Note("then"); });
  Answer();
  ASSERT_TRUE(WaitFor("then"));
  EXPECT_THAT(Notes(), ::testing::ElementsAre("hung", "then"));
}

// Who stood still when the time was up is in the journal; that all are dead later says nothing.
TEST_F(CycleTest, OfAJobOutOfTimeOnlyWhatStoodStillHangs) {
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

// The answer of a node that has the binary, or has not.
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

// The node that is asked first need not have the program's binary.
TEST(MonitorTest, WhatOneNodeCannotSymbolizeAnotherIsAsked) {
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
TEST(MonitorTest, AJobThatEndedWellWaitsForNamesOnlyWhereTheyAreShown) {
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

rpc::AgentMessage Environment(uint64_t request, const std::string& json) {
  rpc::AgentMessage message;
  message.mutable_environment()->set_request(request);
  message.mutable_environment()->set_json(json);
  return message;
}

MonitorOptions WithEvidence(int64_t patience_ns) {
  MonitorOptions options;
  options.answer_patience_ns = patience_ns;
  options.on_evidence = [](const Trace&, const Report&, const bundle::Evidence&) {};
  return options;
}

// One agent answers, one says nothing, one went away: what came of the first is there, and the
// others are named.
TEST(MonitorTest, EvidenceNamesWhoDidNotAnswer) {
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

// A bundle of a large job on a slow disk takes longer than an agent may be silent. It was not.
TEST(MonitorTest, NoAgentIsLostWhileEvidenceIsWritten) {
  std::promise<void> writing;
  std::promise<void> heartbeat_sent;
  std::mutex mutex;
  std::vector<std::string> notes;
  MonitorOptions options;
  options.lost_after_ns = 2'000'000'000;
  options.on_evidence = [&](const Trace&, const Report&, const bundle::Evidence&) {
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
  // The second one is refused when the monitor has gone round once more.
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

// Containers of one name and path.
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

TEST(MonitorTest, EvidenceThatDoesNotFitIsRefused) {
  for (const std::string& json : {std::string(bundle::kMaxEnvironmentBytes + 1, ' '),
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

// What nobody asked for is not taken.
TEST(MonitorTest, WithoutABundleNothingIsAskedOrKept) {
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

// A problem of the last look that speaks of `what`; "" if there is none.
std::string ProblemOf(const Monitor::Final& final, const std::string& what) {
  for (const Problem& problem : final.trace.problems) {
    if (problem.message.find(what) != std::string::npos) return problem.message;
  }
  return "";
}

TEST(MonitorTest, WhatCannotBeHeldIsNamed) {
  const std::vector<uint8_t> ring = RingInBarrier(0, true);
  MonitorOptions options;
  options.most_held_bytes = (uint64_t{1} << 20) + ring.size() / 2;
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

// Containers are all called localhost, and their run directories may be one path.
TEST(MonitorTest, TwoNodesOfOneNameBothCount) {
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
  monitor.Message(agent, again);  // the second one, connected anew, and with nothing to say yet
  const uint64_t request = third->WaitForSnapshotRequest();
  EXPECT_NE(request, 0u) << "the first one's rank waits";
  monitor.Leave(agent);
}

// Agents of one name and path without ids of their own.
TEST(MonitorTest, AReplacedAgentIsToldAndComesBackWhenItsSuccessorLeft) {
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

TEST(MonitorTest, AnAgentsNamesCannotForgeLinesOfATerminal) {
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

TEST(SnapshotSetTest, ALaterAnswerReplacesOneProcessAndKeepsTheOthers) {
  SnapshotSet set;
  rpc::SnapshotChunk chunk;
  chunk.set_total_bytes(1);
  chunk.set_end_of_file(true);
  set.Begin(1, {7});
  chunk.set_request(1);
  chunk.set_data("a");
  for (const uint64_t id : {1, 2}) {
    chunk.set_id(id);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  }
  set.Begin(2, {7});
  chunk.set_request(2);
  chunk.set_id(1);
  chunk.set_total_bytes(2);
  chunk.set_data("b");
  chunk.set_end_of_file(false);
  EXPECT_TRUE(set.Add(7, chunk, 0));
  EXPECT_EQ(set.images().at(1).bytes, std::vector<uint8_t>{'a'}) << "until the new one is whole";
  EXPECT_EQ(set.Incomplete().size(), 0u) << "it has no name yet";
  chunk.set_offset(1);
  chunk.set_data("c");
  chunk.set_end_of_file(true);
  EXPECT_TRUE(set.Add(7, chunk, 0));
  EXPECT_EQ(set.images().at(1).bytes, (std::vector<uint8_t>{'b', 'c'}));
  EXPECT_EQ(set.images().at(2).bytes, std::vector<uint8_t>{'a'});
  set.Clear();
  EXPECT_TRUE(set.images().empty());
}

TEST(SnapshotSetTest, WhatDoesNotFitIsDroppedAndTheRestIsKept) {
  SnapshotSet set;
  rpc::SnapshotChunk chunk;
  chunk.set_request(1);
  const auto send = [&](uint64_t id, const std::string& text) {
    chunk.set_id(id);
    chunk.set_total_bytes(text.size());
    chunk.set_offset(0);
    chunk.set_data(text.substr(0, text.size() / 2));
    chunk.set_end_of_file(false);
    EXPECT_TRUE(set.Add(7, chunk, 0));
    chunk.set_offset(text.size() / 2);
    chunk.set_data(text.substr(text.size() / 2));
    chunk.set_end_of_file(true);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  };
  set.Begin(1, {7}, 6);
  send(1, "abcd");
  send(2, "efgh");  // too large together with the first
  send(3, "ij");
  EXPECT_EQ(set.dropped(), 1u);
  EXPECT_EQ(set.images().size(), 2u);
  EXPECT_EQ(set.images().at(3).bytes, (std::vector<uint8_t>{'i', 'j'}));
  // The newer one of the first takes the older one's place: there is room for both no longer.
  send(1, "k");
  EXPECT_EQ(set.dropped(), 2u);
  EXPECT_EQ(set.images().at(1).bytes.size(), 4u);
  set.Begin(1, {7}, 7);
  send(1, "k");
  EXPECT_EQ(set.images().at(1).bytes, std::vector<uint8_t>{'k'});
  send(2, "efgh");
  EXPECT_EQ(set.dropped(), 0u);
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
