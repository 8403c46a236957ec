// SPDX-License-Identifier: Apache-2.0
#include "collector/service/diagnosis_schedule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace rollcall::service {
namespace {

constexpr int64_t kMs = 1'000'000;

const std::map<std::string, Reason> kReasons = {
    {"calm", Reason::kNone},   {"some-wait", Reason::kSomeWait}, {"all-wait", Reason::kAllWait},
    {"ended", Reason::kEnded}, {"mismatch", Reason::kMismatch},  {"stalled", Reason::kStalled}};
const std::map<std::string, DiagnosisSchedule::Outcome> kOutcomes = {
    {"nothing", DiagnosisSchedule::Outcome::kNothing},
    {"pending", DiagnosisSchedule::Outcome::kPending},
    {"verdict", DiagnosisSchedule::Outcome::kVerdict}};

// Plays a job, which is checked every 25 ms. Each line is "MS EVENT":
//
//   0 all-wait 1       the suspicion from now on, and the fingerprint of its evidence
//   0 finds nothing    the outcome of each diagnosis from now on: nothing, pending, verdict
//   0 takes 500        what each diagnosis takes from now on, in ms; 1 at first
//   300 withdrawn      a verdict is void
//   300 asked          somebody wants a diagnosis
//   300 threshold      a reported verdict may change now
//   1000 end
//
// Returns the times of the diagnoses in ms, with "!" if the diagnosis may not be delayed.
std::string Play(const std::string& job) {
  struct Event {
    int64_t at_ms = 0;
    std::string name;
    std::string value;
  };
  std::vector<Event> events;
  std::istringstream lines(job);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Event event;
    if (words >> event.at_ms >> event.name) {
      words >> event.value;
      events.push_back(event);
    }
  }
  DiagnosisSchedule schedule;
  Suspicion suspicion;
  DiagnosisSchedule::Outcome outcome = DiagnosisSchedule::Outcome::kNothing;
  int64_t cost_ns = kMs;
  std::string diagnosed;
  auto event = events.begin();
  for (int64_t now = 0;; now += DiagnosisSchedule::kTickNs) {
    bool asked = false;
    int64_t threshold_ns = INT64_MAX;
    for (; event != events.end() && event->at_ms * kMs <= now; ++event) {
      if (event->name == "end") return diagnosed;
      if (event->name == "withdrawn") schedule.OnWithdrawal();
      if (event->name == "asked") asked = true;
      if (event->name == "threshold") threshold_ns = now;
      if (event->name == "finds") outcome = kOutcomes.at(event->value);
      if (event->name == "takes") cost_ns = std::stoll(event->value) * kMs;
      if (const auto reason = kReasons.find(event->name); reason != kReasons.end()) {
        suspicion.reason = reason->second;
        suspicion.fingerprint = event->value.empty() ? 0 : std::stoull(event->value);
      }
    }
    const DiagnosisSchedule::Cause cause = schedule.Next(suspicion, asked, threshold_ns, now);
    if (cause == DiagnosisSchedule::Cause::kNone) continue;
    diagnosed += (diagnosed.empty() ? "" : " ") + std::to_string(now / kMs) +
                 (cause == DiagnosisSchedule::Cause::kRequest ? "!" : "");
    schedule.TakeWithdrawal();
    schedule.Ran(suspicion, outcome, now, now + cost_ns);
  }
}

TEST(DiagnosisScheduleTest, AJobThatIsCalmIsNotDiagnosed) {
  EXPECT_EQ(Play("0 calm\n"
                 "500 end\n"),
            "");
}

TEST(DiagnosisScheduleTest, AnUnchangedStateIsDiagnosedLessAndLessOften) {
  EXPECT_EQ(Play("0 all-wait 1\n"
                 "9000 end\n"),
            "0 225 650 1475 3100 6325");
}

TEST(DiagnosisScheduleTest, NewEvidenceIsDiagnosedSoon) {
  EXPECT_EQ(Play("0 all-wait 1\n"
                 "1500 all-wait 2\n"
                 "1600 end\n"),
            "0 225 650 1475");
  EXPECT_EQ(Play("0 all-wait 1\n"
                 "2000 all-wait 2\n"
                 "2100 end\n"),
            "0 225 650 1475 2000");
}

// A threshold must not fall between two diagnoses that are far apart.
TEST(DiagnosisScheduleTest, AReportThatWaitsIsDiagnosedOften) {
  EXPECT_EQ(Play("0 mismatch 1\n"
                 "0 finds pending\n"
                 "1200 end\n"),
            "0 225 450 675 900 1125");
}

TEST(DiagnosisScheduleTest, AfterAVerdictTheSameStateIsDiagnosedRarely) {
  EXPECT_EQ(Play("0 all-wait 1\n"
                 "0 finds verdict\n"
                 "31000 end\n"),
            "0 30025");
}

TEST(DiagnosisScheduleTest, SlowDiagnosesAreRareWhileRanksCompute) {
  EXPECT_EQ(Play("0 takes 500\n"
                 "0 some-wait 1\n"
                 "25 some-wait 2\n"
                 "5600 end\n"),
            "0 5500");
  // Where no rank moves any more, there is no rank to disturb.
  EXPECT_EQ(Play("0 takes 500\n"
                 "0 some-wait 1\n"
                 "600 all-wait 3\n"
                 "700 end\n"),
            "0 600");
}

TEST(DiagnosisScheduleTest, ARequestIsNotDelayed) {
  EXPECT_EQ(Play("0 all-wait 1\n"
                 "50 asked\n"
                 "100 threshold\n"
                 "150 withdrawn\n"
                 "200 calm\n"
                 "250 asked\n"
                 "300 end\n"),
            "0 50! 100! 150! 250!");
}

TEST(DiagnosisScheduleTest, AReportWaitsForFurtherRanks) {
  DiagnosisSchedule schedule;
  EXPECT_TRUE(schedule.MayPublish(0, 1000));
  EXPECT_FALSE(schedule.MayPublish(300, 2000));
  EXPECT_FALSE(schedule.MayPublish(300, 2299));
  EXPECT_TRUE(schedule.MayPublish(300, 2300));
  // A report that need not wait ends the wait: the next one waits from its own begin.
  EXPECT_TRUE(schedule.MayPublish(0, 2400));
  EXPECT_FALSE(schedule.MayPublish(300, 2500));
}

TEST(DiagnosisScheduleTest, ChecksTakeAFiftiethOfTheTime) {
  DiagnosisSchedule schedule;
  EXPECT_TRUE(schedule.CheckIsDue(1000 * kMs));
  schedule.Checked(1000 * kMs, 1002 * kMs);
  EXPECT_FALSE(schedule.CheckIsDue(1099 * kMs));
  EXPECT_TRUE(schedule.CheckIsDue(1100 * kMs));
  schedule.Checked(1100 * kMs, 1100 * kMs);
  EXPECT_FALSE(schedule.CheckIsDue(1100 * kMs + DiagnosisSchedule::kTickNs - 1));
  EXPECT_TRUE(schedule.CheckIsDue(1100 * kMs + DiagnosisSchedule::kTickNs));
  EXPECT_FALSE(schedule.TakeEvents());
  schedule.OnEvents();
  EXPECT_TRUE(schedule.TakeEvents());
  EXPECT_FALSE(schedule.TakeEvents());
}

}  // namespace
}  // namespace rollcall::service
