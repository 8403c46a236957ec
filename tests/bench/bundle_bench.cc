// From a directory of rings to a bundle: time and size, against the targets in
// docs/performance.md, beside what it costs to read the files at all; and that the bundle says
// what the directory says.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "collector/bundle/collect.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/run_directory.h"
#include "tests/bench/child_cost.h"
#include "tests/bench/ring_job_files.h"
#include "tests/bench/ring_job_verdict.h"

namespace {

namespace fs = std::filesystem;
using namespace rollcall;
using namespace rollcall::ring_job;

constexpr uint32_t kRecords = 2000;
constexpr int kRounds = 5;
constexpr int64_t kTargetRanks = 64;
constexpr double kTargetWallS = 2;
constexpr double kTargetShare = 0.2;
bool g_missed = false;

std::string VerdictOf(const std::string& input) {
  Trace trace = LoadTrace({input});
  NamePlaces(&trace);
  DiagnoseOptions options;
  options.job_ended = true;
  return VerdictText(Diagnose(trace, options));
}

void Bundle(benchmark::State& state) {
  const int64_t ranks = state.range(0);
  const Job job({static_cast<int32_t>(ranks), kRecords, Fault::kSkipped});
  std::string directory = (fs::temp_directory_path() / "rollcall-bundle-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return state.SkipWithError("mkdtemp");
  const Written written = WriteRings(job, directory);
  const std::string file = directory + ".bundle";
  ChildCost least;
  for (auto _ : state) {
    const ChildCost cost =
        RunInChild([&] { return bundle::Collect({directory}, file, {}).written; });
    state.SetIterationTime(cost.wall_s);
    if (!least.good || cost.wall_s < least.wall_s) least = cost;
    if (!cost.good) state.SkipWithError("not written");
  }
  const ChildCost reading = RunInChild([&] { return VerdictOf(file) == ExpectedText(job); });
  const ChildCost direct = RunInChild([&] { return VerdictOf(directory) == ExpectedText(job); });
  const double share =
      static_cast<double>(fs::file_size(file)) / static_cast<double>(written.bytes);
  if (!reading.good || !direct.good) state.SkipWithError("another verdict than the planted one");
  g_missed |= !least.good || !reading.good || share > kTargetShare;
  g_missed |= ranks == kTargetRanks && least.wall_s > kTargetWallS;
  state.counters["wall_s"] = least.wall_s;
  state.counters["cpu_s"] = least.cpu_s;
  state.counters["peak_MB"] = least.peak_mb;
  state.counters["rings_MB"] = static_cast<double>(written.bytes) * 1e-6;
  state.counters["share_%"] = share * 100;
  state.counters["analyze_s"] = reading.wall_s;
  state.counters["analyze_directory_s"] = direct.wall_s;
  state.counters["analyze_MB"] = reading.peak_mb;
  fs::remove(file);
  fs::remove_all(directory);
}
BENCHMARK(Bundle)
    ->ArgName("ranks")
    ->Arg(kTargetRanks)
    ->Arg(1024)
    ->Iterations(kRounds)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);

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
