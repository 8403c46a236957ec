// SPDX-License-Identifier: Apache-2.0
// A v-collective of so many ranks that the collector fetches their counts only if it needs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "collector/service/monitor.h"
#include "tests/collector/service/fake_agent.h"

namespace rollcall::service {
namespace {

constexpr int32_t kManyRanks = 70;  // with more than 64 ranks, the first records lack the counts
constexpr uint16_t kMpiInt = 8;

// Each rank is inside an MPI_Alltoallv in which it expects one element from every rank. With
// `sends_too_little`, it sends none to the next rank.
std::vector<uint8_t> RingInAlltoallv(int32_t rank, bool sends_too_little) {
  RingFileBuilder builder(rank, kManyRanks);
  const uint32_t thread = builder.AddThread(100, /*collective_slots=*/64);
  const uint32_t world = builder.AddMember(0xfeed, rank, kManyRanks, ring::kIsWorld);
  std::vector<uint64_t> send_counts(kManyRanks, 1);
  const std::vector<uint64_t> recv_counts(kManyRanks, 1);
  if (sends_too_little) send_counts[static_cast<size_t>((rank + 1) % kManyRanks)] = 0;
  ring::Record record = RingFileBuilder::MakeRecord(Operation::kAlltoallv, 2000, world, 1);
  record.send_datatype = kMpiInt;
  record.recv_datatype = kMpiInt;
  builder.Open(thread, builder.AppendWithCounts(thread, record, send_counts, recv_counts));
  builder.members[world - 1].entered = 1;
  builder.CountCalls();
  return builder.Build();
}

// "kind, certainty" of each finding in the monitor's first report after it received the newest
// records that it requested, and the number of records in each request.
struct Outcome {
  std::vector<std::string> findings;
  std::vector<uint64_t> newest_records;
};

Outcome Watch(bool send_too_little, MonitorOptions options = {}) {
  std::mutex mutex;
  std::condition_variable changed;
  Outcome outcome;
  options.on_report = [&](const Trace&, const Report& report) {
    const std::lock_guard lock(mutex);
    for (const Finding& finding : report.findings) {
      outcome.findings.push_back(std::string(KindName(finding.kind)) + ", " +
                                 std::string(CertaintyName(finding.certainty)));
    }
    changed.notify_all();
  };
  Monitor monitor{std::move(options)};
  std::vector<std::vector<uint8_t>> rings;
  rings.reserve(kManyRanks);
  for (int32_t rank = 0; rank < kManyRanks; ++rank) {
    rings.push_back(RingInAlltoallv(rank, send_too_little));
  }
  const auto link =
      std::make_shared<AnsweringLink>(&monitor, rings, [&](const rpc::SnapshotRequest& request) {
        const std::lock_guard lock(mutex);
        outcome.newest_records.push_back(request.newest_records());
        return true;
      });
  link->agent = monitor.Join(link);
  monitor.Message(link->agent, Hello());
  rpc::AgentMessage waiting;
  for (const std::vector<uint8_t>& ring : rings) {
    waiting.mutable_digests()->add_processes()->CopyFrom(
        WaitingDigest(IdOf(ring), kManyRanks).digests().processes(0));
  }
  monitor.Message(link->agent, waiting);
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::seconds(20), [&] { return !outcome.findings.empty(); });
  Outcome first = outcome;
  lock.unlock();
  monitor.Leave(link->agent);
  return first;
}

// At once, not only after the time at which the collective counts as stalled.
TEST(MonitorCountsTest, FetchesAndComparesCountsOfManyRanks) {
  MonitorOptions options;
  options.times.stall_after_ns = int64_t{3600} * 1'000'000'000;
  const Outcome outcome = Watch(/*send_too_little=*/true, std::move(options));
  EXPECT_THAT(outcome.findings, ::testing::ElementsAre("count-mismatch, proven"));
  // The newest 4 of each ring buffer; then 2 * 70 counts need more.
  ASSERT_GE(outcome.newest_records.size(), 2u);
  EXPECT_EQ(outcome.newest_records[0], 4u);
  EXPECT_GT(outcome.newest_records[1], 4u);
}

TEST(MonitorCountsTest, ReportsStalledTransportIfTheCountsMatch) {
  const Outcome outcome = Watch(/*send_too_little=*/false);
  EXPECT_THAT(outcome.findings, ::testing::ElementsAre("transport-stalled, likely"));
}

}  // namespace
}  // namespace rollcall::service
