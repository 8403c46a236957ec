// SPDX-License-Identifier: Apache-2.0
// The verdicts on generated jobs with Megatron's shapes and one planted fault each, read from
// dumps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/flight_recorder/dump.h"
#include "collector/import/flight_recorder/trace_builder.h"
#include "collector/model/rank_set.h"
#include "tests/support/megatron_job.h"
#include "tests/support/sanitizers.h"

namespace rollcall::flight_recorder {
namespace {

const Shape kShapes[] = {
    {2, 2, 2, 1, 3, 2, 2}, {4, 2, 2, 1, 3, 2, 2},  {2, 4, 2, 2, 2, 4, 1}, {2, 2, 4, 4, 3, 2, 2},
    {4, 2, 4, 8, 2, 2, 1}, {1, 4, 4, 1, 3, 3, 1},  {8, 1, 2, 4, 3, 2, 2}, {4, 4, 2, 1, 2, 3, 2},
    {3, 2, 3, 3, 3, 2, 1}, {8, 2, 2, 16, 2, 2, 2}, {4, 4, 4, 8, 2, 2, 1}, {1, 2, 4, 2, 3, 2, 2},
};

std::span<const Shape> Shapes() {
  return std::span(kShapes).first(
      static_cast<size_t>(Rounds(static_cast<int>(std::size(kShapes)))));
}

// The expected findings: the first one has one of these kinds, and all findings together have these
// culprits. If there are no kinds, no finding is expected.
struct Expected {
  std::set<VerdictKind> kinds;
  std::set<int> culprits;
};

struct Planted {
  MegatronJob job;
  Expected expected;
  DumpStyle style;
  std::set<int> absent;
  std::string what;
};

Trace Import(Planted* planted, std::mt19937* random) {
  FlightTraceBuilder builder;
  const std::vector<std::string> files = planted->job.Dumps(planted->style, random);
  for (size_t r = 0; r < files.size(); ++r) {
    if (planted->absent.contains(static_cast<int>(r))) continue;
    MemorySource source({reinterpret_cast<const uint8_t*>(files[r].data()), files[r].size()});
    const Format format = Recognize(source);
    EXPECT_EQ(format, planted->style.json ? Format::kJson : Format::kPickle);
    Dump dump = ReadDump(source, "_dump_" + std::to_string(r), format);
    dump.rank = static_cast<int32_t>(r);
    dump.taken_at_ns = planted->job.newest_ns() + planted->style.age_ns;
    builder.Add(dump);
  }
  return builder.Finish();
}

class MegatronJobs : public testing::Test {
 protected:
  static void TearDownTestSuite() {
    int total = 0;
    for (const auto& [what, count] : counts_) {
      fmt::print("{:>6}  {}\n", count, what);
      total += count;
    }
    fmt::print("{:>6}  in all\n", total);
  }

  void Check(Planted planted) {
    planted.job.Simulate(rounds_);
    Unmask(&planted);
    const Trace trace = Import(&planted, &random_);
    for (const Problem& problem : trace.problems) ADD_FAILURE() << problem.message;
    DiagnoseOptions options;
    options.job_ended = true;
    const Report report = Diagnose(trace, options);
    std::set<int> culprits;
    std::string found;
    for (const Finding& finding : report.findings) {
      culprits.insert(finding.culprits.begin(), finding.culprits.end());
      found += fmt::format("  {}: {}\n", KindName(finding.kind), finding.title);
    }
    const Shape& s = planted.job.shape();
    const std::string context = fmt::format(
        "{} (tp {} pp {} dp {} ep {}, active {} frames {} json {} ring {} started {})\n{}",
        planted.what, s.tensor, s.pipeline, s.data, s.expert, planted.style.only_active,
        planted.style.frames, planted.style.json, planted.style.ring != ~size_t{0},
        planted.style.started, found);
    ++counts_[planted.what.substr(0, planted.what.find(':'))];
    if (planted.expected.kinds.empty()) {
      EXPECT_TRUE(report.findings.empty()) << context;
      return;
    }
    ASSERT_FALSE(report.findings.empty()) << context;
    EXPECT_TRUE(planted.expected.kinds.contains(report.findings[0].kind)) << context;
    EXPECT_EQ(culprits, planted.expected.culprits) << context;
    EXPECT_TRUE(report.findings[0].hangs) << context;
  }

  // If two ranks are at fault, one may have stopped where it would have waited for the other
  // anyway: its dump is then the same as that of a healthy rank.
  static void Unmask(Planted* planted) {
    if (planted->expected.culprits.size() < 2) return;
    std::set<int> seen;
    for (const int culprit : planted->expected.culprits) {
      const JobRank& rank = planted->job.ranks()[static_cast<size_t>(culprit)];
      if (rank.host_stops_at == ~size_t{0}) return;
      bool open = false;
      for (size_t i = 0; i < rank.host_stops_at; ++i) open |= rank.states[i] != DeviceState::kDone;
      if (!open) seen.insert(culprit);
    }
    planted->expected.culprits = seen;
  }

  size_t Random(size_t below) { return random_() % below; }

  // One of the forms that dumps have in practice.
  DumpStyle Style() {
    DumpStyle style;
    switch (Random(6)) {
      case 0:
        style.only_active = true;
        style.frames = Random(2) == 0;
        break;
      case 1:
        style.json = true;
        style.frames = false;
        break;
      case 2:
        style.started = true;
        break;
      case 3:
        style.ring = 90 + Random(40);  // more than a host enqueues before it waits
        break;
      case 4:
        style.frames = false;
        break;
      default:
        break;
    }
    constexpr const char* kVersions[] = {"2.3", "2.4", "2.7", "2.9", "2.10"};
    style.version = kVersions[Random(std::size(kVersions))];
    return style;
  }

  // A collective of a group of at least `members`, in the last two thirds of a rank's program.
  std::optional<size_t> Collective(MegatronJob* job, int rank, size_t members,
                                   const std::string& name = "") {
    const std::vector<JobOperation>& program = job->ranks()[static_cast<size_t>(rank)].program;
    for (int tries = 0; tries < 200; ++tries) {
      const size_t i = program.size() / 3 + Random(program.size() - program.size() / 3);
      if (program[i].IsMessage() || job->Members(program[i]).size() < members) continue;
      if (program[i].sync || (!name.empty() && program[i].name != name)) continue;
      return i;
    }
    return std::nullopt;
  }

  Planted Plant(const Shape& shape, const std::string& what) {
    Planted planted{MegatronJob(shape), {}, Style(), {}, what};
    if (Random(4) == 0) {
      for (JobRank& rank : planted.job.ranks()) {
        for (JobOperation& operation : rank.program) operation.async = operation.name == "send";
      }
    }
    return planted;
  }

  // ROLLCALL_SEED=N tries other jobs.
  static unsigned Seed() {
    const char* seed = std::getenv("ROLLCALL_SEED");
    return seed == nullptr ? 20261120 : static_cast<unsigned>(std::atoi(seed));
  }
  std::mt19937 random_{Seed()};
  int rounds_ = 0;
  static inline std::map<std::string, int> counts_;
};

TEST_F(MegatronJobs, HealthyJobsHaveNoFinding) {
  for (const Shape& shape : Shapes()) {
    Check(Plant(shape, "healthy, finished"));
    Planted apart = Plant(shape, "healthy, rings that start apart");
    apart.style.only_active = false;
    apart.style.ring = 30 + Random(60);
    Check(apart);
    Planted absent = Plant(shape, "healthy, a dump absent");
    absent.absent = {static_cast<int>(Random(static_cast<size_t>(shape.Ranks())))};
    Check(absent);
    // The job still runs when it is diagnosed.
    Planted moving = Plant(shape, "healthy, on its way");
    moving.style.age_ns = 2'000'000'000;
    rounds_ = 5 + static_cast<int>(Random(100));
    Check(moving);
    rounds_ = 0;
    // All hosts wait for the same slow file.
    Planted idle = Plant(shape, "everywhere idle");
    const size_t sync = 1;
    for (JobRank& rank : idle.job.ranks()) {
      for (size_t i = 0; i + 1 < rank.program.size(); ++i) {
        if (rank.program[i].sync) rank.host_stops_at = std::min(rank.host_stops_at, i + sync);
      }
    }
    Check(idle);
  }
}

TEST_F(MegatronJobs, HostsThatStopAreNamed) {
  for (int round = 0; round < Rounds(3); ++round) {
    for (const Shape& shape : Shapes()) {
      Planted planted = Plant(shape, "stalled host");
      const size_t culprits = 1 + Random(2);
      while (planted.expected.culprits.size() < culprits) {
        planted.expected.culprits.insert(
            static_cast<int>(Random(static_cast<size_t>(shape.Ranks()))));
      }
      const size_t at = planted.job.ranks()[0].program.size() / 3 + Random(20);
      for (const int rank : planted.expected.culprits) {
        planted.job.ranks()[static_cast<size_t>(rank)].host_stops_at = at;
      }
      planted.expected.kinds = {VerdictKind::kRankStalled};
      if (round == 2) {
        planted.what = "stalled host, another dump absent";
        const int absent = static_cast<int>(Random(static_cast<size_t>(shape.Ranks())));
        if (!planted.expected.culprits.contains(absent)) planted.absent = {absent};
      }
      Check(planted);
    }
  }
}

TEST_F(MegatronJobs, NothingIsClaimedWithoutTheCulpritsDump) {
  for (const Shape& shape : Shapes()) {
    Planted planted = Plant(shape, "stalled host, its own dump absent");
    const auto culprit = static_cast<int>(Random(static_cast<size_t>(shape.Ranks())));
    JobRank& rank = planted.job.ranks()[static_cast<size_t>(culprit)];
    rank.host_stops_at = rank.program.size() / 3 + Random(20);
    planted.absent = {culprit};
    planted.expected.kinds = {VerdictKind::kInconclusive};
    Check(planted);
  }
}

TEST_F(MegatronJobs, GpusThatStopAreNamed) {
  for (int round = 0; round < Rounds(4); ++round) {
    for (const Shape& shape : Shapes()) {
      Planted planted = Plant(shape, "stalled GPU");
      const size_t culprits = 1 + static_cast<size_t>(round == 1);
      // The host of a stalled device also stalls, earlier than the hosts of its peers.
      if (round == 3) {
        planted.what = "stalled GPU, hosts that run a little ahead";
        planted.job.run_ahead = 3 + Random(6);
      }
      for (size_t i = 0; i < culprits; ++i) {
        const auto culprit = static_cast<int>(Random(static_cast<size_t>(shape.Ranks())));
        const std::optional<size_t> at = Collective(&planted.job, culprit, 2, "_all_gather_base");
        if (!at) continue;
        planted.job.ranks()[static_cast<size_t>(culprit)].device_stops_at = *at;
        planted.expected.culprits.insert(culprit);
        if (round == 2) {
          // The device does not start the operation, but its peers do: only dumps with start times
          // show this.
          planted.what = "stalled GPU, before it began";
          planted.job.ranks()[static_cast<size_t>(culprit)].device_begins_last = false;
          planted.style.started = true;
        }
        if (culprits > 1) break;
      }
      if (planted.expected.culprits.empty()) continue;
      planted.expected.kinds = {VerdictKind::kGpuStalled};
      Check(planted);
    }
  }
}

TEST_F(MegatronJobs, TransportIsBlamedIfAllRanksStop) {
  for (const Shape& shape : Shapes()) {
    Planted planted = Plant(shape, "stalled everywhere");
    const uint64_t iteration = 2;
    planted.job.CutOff(0, iteration);
    planted.expected.kinds = {VerdictKind::kTransportStalled};
    Check(planted);
  }
}

// The kinds that fit the first difference between the culprit's history and its group's, determined
// without the diagnosis.
std::set<VerdictKind> FirstDifference(MegatronJob* job, int culprit, int group) {
  const auto history = [&](int rank) {
    std::vector<JobOperation> result;
    for (const JobOperation& operation : job->ranks()[static_cast<size_t>(rank)].program) {
      if (operation.group == group && !operation.IsMessage()) result.push_back(operation);
    }
    return result;
  };
  const std::vector<int>& members = job->groups()[static_cast<size_t>(group)].ranks;
  const std::vector<JobOperation> odd = history(culprit);
  const std::vector<JobOperation> even = history(members[0] == culprit ? members[1] : members[0]);
  for (size_t i = 0; i < odd.size() && i < even.size(); ++i) {
    if (odd[i].name != even[i].name) return {VerdictKind::kCollectiveMismatch};
    if (odd[i].name == "all_to_all") continue;
    if (odd[i].dtype != even[i].dtype) return {VerdictKind::kDatatypeMismatch};
    if (odd[i].count != even[i].count) return {VerdictKind::kCountMismatch};
  }
  return {};
}

TEST_F(MegatronJobs, RankWithAMissingOrExtraCallIsNamed) {
  for (int round = 0; round < Rounds(3); ++round) {
    for (const Shape& shape : Shapes()) {
      for (const bool extra : {false, true}) {
        Planted planted = Plant(shape, extra ? "extra call" : "skipped call");
        const auto culprit = static_cast<int>(Random(static_cast<size_t>(shape.Ranks())));
        const std::optional<size_t> at = Collective(&planted.job, culprit, 3);
        if (!at) continue;
        std::vector<JobOperation>& program =
            planted.job.ranks()[static_cast<size_t>(culprit)].program;
        const JobOperation call = program[*at];
        const auto place = program.begin() + static_cast<ptrdiff_t>(*at);
        if (extra) {
          program.insert(place, call)->line = 999;
        } else {
          program.erase(place);
        }
        planted.job.Number();
        planted.expected.kinds = FirstDifference(&planted.job, culprit, call.group);
        if (planted.expected.kinds.empty()) continue;
        // The call sites may allow a more precise kind.
        planted.expected.kinds.insert(VerdictKind::kRankConditionalCollective);
        planted.expected.kinds.insert(VerdictKind::kUnevenIterations);
        planted.expected.culprits = {culprit};
        Check(planted);
      }
    }
  }
}

TEST_F(MegatronJobs, RankWithOtherArgumentsIsNamed) {
  for (int round = 0; round < Rounds(2); ++round) {
    for (const Shape& shape : Shapes()) {
      for (const VerdictKind kind : {VerdictKind::kCollectiveMismatch, VerdictKind::kCountMismatch,
                                     VerdictKind::kDatatypeMismatch}) {
        Planted planted = Plant(shape, std::string(KindName(kind)));
        const auto culprit = static_cast<int>(Random(static_cast<size_t>(shape.Ranks())));
        const std::optional<size_t> at =
            Collective(&planted.job, culprit, 3,
                       kind == VerdictKind::kCollectiveMismatch ? "" : "_all_gather_base");
        if (!at) continue;
        JobOperation& call = planted.job.ranks()[static_cast<size_t>(culprit)].program[*at];
        if (kind == VerdictKind::kCollectiveMismatch) {
          call.name = call.name == "broadcast" ? "all_reduce" : "broadcast";
        } else if (kind == VerdictKind::kCountMismatch) {
          call.count += 7;
        } else {
          call.dtype = "Float";
        }
        planted.expected.kinds = {kind};
        planted.expected.culprits = {culprit};
        Check(planted);
      }
    }
  }
}

TEST_F(MegatronJobs, OppositeOrderOfTwoGroupsIsReported) {
  for (int round = 0; round < Rounds(4); ++round) {
    for (const Shape& shape : Shapes()) {
      if (shape.tensor < 3) continue;
      Planted planted = Plant(shape, "two groups in opposite order");
      const auto culprit = static_cast<int>(Random(static_cast<size_t>(shape.Ranks())));
      std::vector<JobOperation>& program =
          planted.job.ranks()[static_cast<size_t>(culprit)].program;
      size_t last = 0;
      for (size_t i = 0; i < program.size(); ++i) {
        if (program[i].line == 10) last = i;
      }
      std::swap(program[last], program[last + 1]);
      planted.job.Number();
      planted.expected.kinds = {VerdictKind::kOrderInversion};
      planted.expected.culprits = {culprit};
      Check(planted);
    }
  }
}

TEST_F(MegatronJobs, ScheduleOffByOneIsReported) {
  for (int round = 0; round < Rounds(3); ++round) {
    for (const Shape& shape : Shapes()) {
      if (shape.pipeline < 2) continue;
      Planted planted = Plant(shape, "p2p schedule off by one");
      const auto culprit = static_cast<int>(Random(static_cast<size_t>(shape.Ranks())));
      std::vector<JobOperation>& program =
          planted.job.ranks()[static_cast<size_t>(culprit)].program;
      std::vector<size_t> messages;
      // Only the first iteration: the host does not run past its end.
      for (size_t i = 0; i < program.size() && !program[i].sync; ++i) {
        if (program[i].IsMessage()) messages.push_back(i);
      }
      const size_t at = messages[Random(messages.size())];
      const int peer = planted.job.Members(program[at])[static_cast<size_t>(program[at].peer)];
      program.erase(program.begin() + static_cast<ptrdiff_t>(at));
      planted.job.Number();
      planted.expected.kinds = {VerdictKind::kP2pUnmatched, VerdictKind::kP2pDeadlock};
      planted.expected.culprits = {culprit, peer};
      Check(planted);
    }
  }
}

}  // namespace
}  // namespace rollcall::flight_recorder
