// SPDX-License-Identifier: Apache-2.0
// From rings to a bundle, of a directory and of what a collector holds: time and size, against the
// targets in docs/measurements, beside what it costs to analyze the bundle and the directory; and
// that both say what was planted.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "collector/base/clock.h"
#include "collector/collect/collect.h"
#include "collector/collect/evidence.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/load_inputs.h"
#include "tests/bench/child_cost.h"
#include "tests/support/job_evidence.h"
#include "tests/support/ring_job_files.h"
#include "tests/support/ring_job_verdict.h"

namespace {

namespace fs = std::filesystem;
using namespace rollcall;
using namespace rollcall::ring_job;

constexpr uint32_t kRecords = 2000;
constexpr int kRounds = 5;
constexpr int64_t kTargetRanks = 64;
constexpr int64_t kRanksPerNode = 8;
constexpr double kTargetWallS = 2;
constexpr double kTargetShare = 0.2;
bool g_missed = false;

std::string VerdictOf(const std::string& input) {
  Trace trace = LoadInputs({input}).trace;
  NamePlaces(&trace);
  DiagnoseOptions options;
  options.job_ended = true;
  return VerdictText(Diagnose(trace, options));
}

// A job's ring files, which go when it does.
struct JobOnDisk {
  explicit JobOnDisk(int64_t ranks)
      : job({static_cast<int32_t>(ranks), kRecords, Fault::kSkipped}),
        directory((fs::temp_directory_path() / "rollcall-bundle-XXXXXX").string()) {
    if (mkdtemp(directory.data()) == nullptr) {
      fmt::print(stderr, "no directory in {}\n", fs::temp_directory_path().string());
      std::exit(2);
    }
    written = WriteRings(job, directory);
  }
  ~JobOnDisk() {
    fs::remove(bundle());
    fs::remove_all(directory);
  }
  JobOnDisk(const JobOnDisk&) = delete;
  JobOnDisk& operator=(const JobOnDisk&) = delete;
  std::string bundle() const { return directory + ".bundle"; }

  const Job job;
  std::string directory;
  Written written;
};

// The least of some rounds of `write`, which makes the job's bundle.
void Measure(benchmark::State& state, const JobOnDisk& disk, const std::function<bool()>& write) {
  ChildCost least;
  for (auto _ : state) {
    const ChildCost cost = RunInChild(write);
    state.SetIterationTime(cost.wall_s);
    if (!least.good || cost.wall_s < least.wall_s) least = cost;
    if (!cost.good) state.SkipWithError("not written");
  }
  const std::string expected = ExpectedText(disk.job);
  const ChildCost reading = RunInChild([&] { return VerdictOf(disk.bundle()) == expected; });
  const ChildCost direct = RunInChild([&] { return VerdictOf(disk.directory) == expected; });
  const double share =
      static_cast<double>(fs::file_size(disk.bundle())) / static_cast<double>(disk.written.bytes);
  if (!reading.good || !direct.good) state.SkipWithError("another verdict than the planted one");
  g_missed |= !least.good || !reading.good || share > kTargetShare;
  g_missed |= state.range(0) == kTargetRanks && least.wall_s > kTargetWallS;
  state.counters["wall_s"] = least.wall_s;
  state.counters["cpu_s"] = least.cpu_s;
  state.counters["peak_MB"] = least.peak_mb;
  state.counters["rings_MB"] = static_cast<double>(disk.written.bytes) * 1e-6;
  state.counters["share_%"] = share * 100;
  state.counters["analyze_s"] = reading.wall_s;
  state.counters["analyze_directory_s"] = direct.wall_s;
  state.counters["analyze_MB"] = reading.peak_mb;
}

// As `rollcall bundle DIR` does it.
void OfADirectory(benchmark::State& state) {
  const JobOnDisk disk(state.range(0));
  Measure(state, disk,
          [&] { return collect::Collect({disk.directory}, disk.bundle(), {}).written; });
}

// As a collector does it after a verdict: what the agents sent is in memory.
void OfACollector(benchmark::State& state) {
  const JobOnDisk disk(state.range(0));
  Trace trace = LoadInputs({disk.directory}).trace;
  NamePlaces(&trace);
  collect::StandStill(&trace, Now(CLOCK_REALTIME));
  const collect::Evidence evidence =
      collect::EvidenceOf(trace, static_cast<size_t>(state.range(0) / kRanksPerNode));
  Measure(state, disk, [&] { return collect::WriteEvidence(evidence, disk.bundle(), {}).written; });
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("ranks")->Arg(kTargetRanks)->Arg(1024)->Iterations(kRounds);
  bench->UseManualTime()->Unit(benchmark::kSecond);
}
BENCHMARK(OfADirectory)->Apply(Sizes);
BENCHMARK(OfACollector)->Apply(Sizes);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  if (g_missed)
    fmt::print("MISSED: 64 ranks in {} s, {:.0f}% of the rings\n", kTargetWallS,
               kTargetShare * 100);
  return g_missed ? 1 : 0;
}
