// SPDX-License-Identifier: Apache-2.0
// From a directory of rings to the verdict: CPU time, wall time and memory, against the targets in
// docs/measurements, and beside what it costs to read the files at all. The verdict is checked
// each time.
//
// Needs 5 GB in TMPDIR for the largest job, and as much memory to keep them cached.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/load_inputs.h"
#include "tests/bench/child_cost.h"
#include "tests/support/ring_job_files.h"
#include "tests/support/ring_job_verdict.h"

namespace {

namespace fs = std::filesystem;
using namespace rollcall;
using namespace rollcall::ring_job;

constexpr uint32_t kRecords = 2000;
constexpr int kRounds = 3;
constexpr int64_t kGrowthRanks[] = {64, 128, 256, 512, 1024};
constexpr Fault kGrowthFault = Fault::kSkipped;
constexpr double kMaxExponent = 1.1;

struct Target {
  int64_t ranks;
  double cpu_s;   // 0: none
  double wall_s;  // on two cores
  double peak_mb;
};
constexpr Target kTargets[] = {{1024, 1, 0, 300}, {16384, 0, 20, 3000}};

struct Measured {
  int64_t ranks;
  Fault fault;
  uint64_t records;
  ChildCost cost;
};
std::vector<Measured> g_measured;
bool g_failed = false;

// The baseline: every byte read once, and added up.
bool ReadAll(const std::string& directory) {
  std::vector<uint64_t> buffer(1 << 17);
  uint64_t sum = 0;
  for (const auto& file : fs::recursive_directory_iterator(directory)) {
    if (!file.is_regular_file()) continue;
    const int fd = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t got;
    while ((got = read(fd, buffer.data(), buffer.size() * sizeof(uint64_t))) > 0) {
      for (size_t i = 0; i < static_cast<size_t>(got) / sizeof(uint64_t); ++i) sum += buffer[i];
    }
    close(fd);
  }
  return sum != 0;
}

bool VerdictIsRight(const std::string& directory, const Job& job) {
  Trace trace = LoadInputs({directory}).trace;
  NamePlaces(&trace);
  DiagnoseOptions options;
  options.job_ended = true;
  const std::string verdict = VerdictText(Diagnose(trace, options));
  if (verdict == ExpectedText(job)) return true;
  fmt::print(stderr, "verdict: {}; planted: {}\n", verdict, ExpectedText(job));
  return false;
}

void RingScale(benchmark::State& state) {
  const int64_t ranks = state.range(0);
  const auto fault = static_cast<Fault>(state.range(1));
  state.SetLabel(std::string(FaultName(fault)));
  const Job job({static_cast<int32_t>(ranks), kRecords, fault});
  std::string directory = (fs::temp_directory_path() / "rollcall-rings-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return state.SkipWithError("mkdtemp");
  const Written written = WriteRings(job, directory);
  sync();  // what is written out later would be measured
  const ChildCost reading = RunInChild([&] { return ReadAll(directory); });
  ChildCost least;
  for (auto _ : state) {
    const ChildCost cost = RunInChild([&] { return VerdictIsRight(directory, job); });
    if (!cost.good) {
      state.SkipWithError("another verdict than that of the planted fault");
      least.good = false;
      break;
    }
    state.SetIterationTime(cost.cpu_s);
    if (!least.good) least = cost;
    least.cpu_s = std::min(least.cpu_s, cost.cpu_s);
    least.wall_s = std::min(least.wall_s, cost.wall_s);
    least.peak_mb = std::max(least.peak_mb, cost.peak_mb);
  }
  fs::remove_all(directory);
  g_failed |= !least.good;
  if (!least.good) return;
  g_measured.push_back({ranks, fault, written.records, least});
  state.counters["cpu_s"] = least.cpu_s;
  state.counters["wall_s"] = least.wall_s;
  state.counters["peak_MB"] = least.peak_mb;
  state.counters["read_cpu_s"] = reading.cpu_s;
  state.counters["files_MB"] = static_cast<double>(written.bytes) * 1e-6;
}

// Five sizes for the growth, every fault at one of them, and the largest job with three.
void AllJobs(benchmark::internal::Benchmark* bench) {
  const auto add = [bench](int64_t ranks, Fault fault) {
    bench->Args({ranks, static_cast<int64_t>(fault)});
  };
  for (const int64_t ranks : kGrowthRanks) add(ranks, kGrowthFault);
  for (int fault = 0; fault < static_cast<int>(std::size(kFaultNames)); ++fault) {
    if (static_cast<Fault>(fault) != kGrowthFault) add(1024, static_cast<Fault>(fault));
  }
  for (const Fault fault : {kGrowthFault, Fault::kReplaced, Fault::kStalled}) add(16384, fault);
}
BENCHMARK(RingScale)
    ->ArgNames({"ranks", "fault"})
    ->Apply(AllJobs)
    ->Iterations(kRounds)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);

double NsPerRecord(const Measured& row) {
  return row.cost.cpu_s * 1e9 / static_cast<double>(row.records);
}

// Bars of one length: CPU time grows as the records do.
void PrintGrowth() {
  fmt::print("\n{:>6} {:>9} {:>9} {:>7} {:>9}\n", "ranks", "fault", "records", "CPU s",
             "ns/record");
  for (const Measured& row : g_measured) {
    const double ns = NsPerRecord(row);
    fmt::print("{:>6} {:>9} {:>9} {:>7.3f} {:>9.0f}  {}\n", row.ranks, FaultName(row.fault),
               row.records, row.cost.cpu_s, ns,
               std::string(static_cast<size_t>(std::clamp(ns / 10, 1.0, 100.0)), '#'));
  }
}

// The slope of the line through the sizes, both axes logarithmic: 1 is linear.
double GrowthExponent() {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const Measured& row : g_measured) {
    if (row.fault != kGrowthFault) continue;
    const double log_records = std::log(static_cast<double>(row.records));
    const double log_cpu = std::log(row.cost.cpu_s);
    n += 1;
    x += log_records;
    y += log_cpu;
    xx += log_records * log_records;
    xy += log_records * log_cpu;
  }
  return n < 2 ? 1 : (n * xy - x * y) / (n * xx - x * x);
}

bool TargetsAreMet() {
  bool met = !g_failed;
  for (const Measured& row : g_measured) {
    for (const Target& target : kTargets) {
      if (row.ranks != target.ranks) continue;
      if ((target.cpu_s == 0 || row.cost.cpu_s <= target.cpu_s) &&
          (target.wall_s == 0 || row.cost.wall_s <= target.wall_s) &&
          row.cost.peak_mb <= target.peak_mb) {
        continue;
      }
      fmt::print("MISSED: {} ranks, {}\n", row.ranks, FaultName(row.fault));
      met = false;
    }
  }
  const double exponent = GrowthExponent();
  fmt::print("CPU time grows with the {:.2f}th power of the records\n", exponent);
  if (exponent > kMaxExponent) {
    fmt::print("MISSED: at most {}\n", kMaxExponent);
    met = false;
  }
  return met;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  PrintGrowth();
  return TargetsAreMet() ? 0 : 1;
}
