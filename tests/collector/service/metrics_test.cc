// SPDX-License-Identifier: Apache-2.0
#include "collector/service/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "proto/ring_format.h"

namespace rollcall::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Gives the digests of one agent's processes to the state and the metrics, as the monitor does.
class MetricsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSecond = 1'000'000'000;
  static constexpr int64_t kNow = 1000 * kSecond;

  rpc::ProcessDigest Rank(int32_t rank) {
    rpc::ProcessDigest digest;
    digest.set_id(static_cast<uint64_t>(rank) + 1);
    digest.set_world_rank(rank);
    digest.set_world_size(2);
    digest.set_job_key(7);
    digest.set_phase(static_cast<uint32_t>(ring::Phase::kRunning));
    return digest;
  }
  void Enter(rpc::ProcessDigest* digest, uint64_t key, uint64_t entered, uint64_t completed) {
    rpc::MemberDigest* member = digest->add_members();
    member->set_key(key);
    member->set_size(2);
    member->set_entered(entered);
    member->set_completed(completed);
  }
  void Block(rpc::ProcessDigest* digest, uint64_t key, int64_t blocked_ns) {
    digest->set_quiet(true);
    digest->add_blocked()->set_key(key);
    digest->mutable_blocked(0)->set_blocked_ns(blocked_ns);
  }
  void Give(const rpc::ProcessDigest& digest, int64_t now = kNow) {
    state_.OnDigest(1, digest, now);
    rpc::AgentMessage message;
    *message.mutable_digests()->add_processes() = digest;
    metrics_.OnMessage(message);
  }
  std::string Text(int64_t now = kNow, const Metrics::MonitorState& monitor_state = {}) {
    metrics_.Publish(state_, monitor_state, now);
    return metrics_.Text();
  }

  JobState state_{{}};
  Metrics metrics_;
};

TEST_F(MetricsTest, WithoutAgentsPublishesTheCollectorsOwnSeries) {
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("\nrollcall_agents 0\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE rollcall_ranks gauge\n"));
  EXPECT_THAT(text, Not(HasSubstr("job_key=")));
}

TEST_F(MetricsTest, PublishesProgressOfTheFirstAndTheLastMember) {
  rpc::ProcessDigest first = Rank(0);
  Enter(&first, 0xabc, 12, 11);
  Block(&first, 0xabc, 3 * kSecond);
  rpc::ProcessDigest last = Rank(1);
  Enter(&last, 0xabc, 10, 10);
  Give(first);
  Give(last);
  const std::string text = Text(kNow + kSecond);
  const std::string labels =
      R"({job_key="0000000000000007",communicator="0000000000000abc",size="2"})";
  EXPECT_THAT(text, HasSubstr("rollcall_collectives_entered_by_first_total" + labels + " 12\n"));
  EXPECT_THAT(text, HasSubstr("rollcall_collectives_entered_by_last_total" + labels + " 10\n"));
  EXPECT_THAT(text, HasSubstr("rollcall_collectives_completed_total" + labels + " 10\n"));
  EXPECT_THAT(text, HasSubstr("rollcall_communicator_waiting_ranks" + labels + " 1\n"));
  EXPECT_THAT(text, HasSubstr("rollcall_communicator_longest_wait_seconds" + labels + " 4\n"));
  EXPECT_THAT(text, HasSubstr(R"(rollcall_ranks{job_key="0000000000000007",state="waiting"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(rollcall_ranks{job_key="0000000000000007",state="computing"} 1)"));
}

TEST_F(MetricsTest, SumsWaitingTimeOverRanksAndPublications) {
  for (int rank = 0; rank < 2; ++rank) {
    rpc::ProcessDigest digest = Rank(rank);
    Block(&digest, 1, 0);
    Give(digest);
  }
  Text(kNow);
  Text(kNow + kSecond);
  EXPECT_THAT(Text(kNow + 3 * kSecond),
              HasSubstr("rollcall_waiting_rank_seconds_total{job_key=\"0000000000000007\"} 6\n"));
}

TEST_F(MetricsTest, PublishesLessOftenIfPublishingTakesLong) {
  metrics_.Publish(state_, {}, kNow);
  EXPECT_FALSE(metrics_.IsDue(kNow + kSecond - 1));
  EXPECT_TRUE(metrics_.IsDue(kNow + kSecond));
  metrics_.OnPublished(kSecond / 10);
  EXPECT_FALSE(metrics_.IsDue(kNow + 5 * kSecond - 1));
  EXPECT_TRUE(metrics_.IsDue(kNow + 5 * kSecond));
}

TEST_F(MetricsTest, CountsCommunicatorsBeyondTheLimit) {
  rpc::ProcessDigest digest = Rank(0);
  for (uint64_t key = 1; key <= Metrics::kMaxCommunicators + 3; ++key) Enter(&digest, key, 1, 1);
  Give(digest);
  EXPECT_THAT(Text(), HasSubstr("\nrollcall_communicators_left_out 3\n"));
}

TEST_F(MetricsTest, ForgetsProcessesOfALostAgent) {
  rpc::ProcessDigest digest = Rank(0);
  Enter(&digest, 1, 1, 1);
  Give(digest);
  EXPECT_THAT(Text(), HasSubstr("communicator="));
  state_.RemoveAgent(1);
  EXPECT_THAT(Text(kNow + kSecond), Not(HasSubstr("communicator=")));
}

TEST_F(MetricsTest, CountsFindingsByKindAndCertainty) {
  EXPECT_THAT(Text(kNow, {.findings = {{{VerdictKind::kRankDied, Certainty::kProven}, 2}}}),
              HasSubstr(R"(rollcall_findings{kind="rank-died",certainty="proven"} 2)"));
}

// Every series that the page and the dashboard name is published, and the page names all.
TEST_F(MetricsTest, PageAndDashboardNameThePublishedSeries) {
  const auto names = [](const std::string& text, const char* pattern) {
    std::set<std::string> found;
    const std::regex name(pattern);
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
      found.insert((*match)[1]);
    }
    return found;
  };
  const auto read = [](const char* file) {
    std::ifstream stream(std::string(ROLLCALL_SOURCE_DIR "/docs/") + file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::set<std::string> published = names(Text(), "# TYPE (\\w+) ");
  EXPECT_EQ(names(read("metrics.md"), "\\b((?:rollcall|process)_\\w+)"), published);
  for (const std::string& name :
       names(read("grafana-dashboard.json"), "\\b((?:rollcall|process)_\\w+)")) {
    EXPECT_TRUE(published.contains(name)) << name;
  }
}

}  // namespace
}  // namespace rollcall::service
