// SPDX-License-Identifier: Apache-2.0
// From a directory of Flight Recorder dumps to the verdict: CPU time and memory, against the
// targets in docs/measurements. Each measurement is a process of its own, so that its memory can
// be told.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/load_inputs.h"
#include "tests/bench/child_cost.h"
#include "tests/support/dump_writer.h"

namespace {

namespace fs = std::filesystem;
using namespace rollcall;
using namespace rollcall::flight_recorder;

constexpr int kTensor = 8;
constexpr int kEntries = 2000;
constexpr int kFrames = 14;
constexpr int kOpen = 9;  // operations that the fault leaves open, an all_reduce of all ranks first

// Tensor parallel groups and one of all; the host of one rank stops before its last operations.
WrittenDump DumpOf(int rank, int ranks, bool stalled) {
  WrittenDump dump;
  WrittenGroup all{0, "0", "default_pg", {}, 0, -1, 0};
  WrittenGroup tensor{
      1, std::to_string(1 + rank / kTensor), "TENSOR_MODEL_PARALLEL_GROUP", {}, 0, -1, 0};
  WrittenGroup data{
      2, std::to_string(1 + ranks / kTensor + rank % kTensor), "DATA_PARALLEL_GROUP", {}, 0, -1, 0};
  for (int r = 0; r < ranks; ++r) all.ranks.push_back(r);
  for (int t = 0; t < kTensor; ++t) tensor.ranks.push_back(rank / kTensor * kTensor + t);
  for (int r = rank % kTensor; r < ranks; r += kTensor) data.ranks.push_back(r);
  dump.groups = {all, tensor, data};
  for (int f = 0; f < kFrames + 20; ++f) {
    dump.frames.push_back(
        {fmt::format("function_{}", f), "/job/megatron/core/training.py", 100 + f});
  }
  for (int i = 0; i < kEntries - (stalled ? kOpen : 0); ++i) {
    const bool everybody = i % 8 == 7;
    WrittenGroup& group = dump.groups[everybody ? 0 : 1];
    WrittenEntry entry;
    entry.record_id = 100'000 + static_cast<uint64_t>(i);
    entry.pg_id = group.pg_id;
    entry.collective_seq = entry.op_id = static_cast<uint64_t>(++group.enqueued);
    entry.name = everybody    ? "nccl:all_reduce"
                 : i % 2 == 0 ? "nccl:_all_gather_base"
                              : "nccl:_reduce_scatter_base";
    entry.input_sizes = entry.output_sizes = {{2048, 1, 5120}};
    entry.input_dtype = entry.output_dtype = "BFloat16";
    entry.created_ns = 1'700'000'000'000'000'000 + i * 1'000'000 + rank;
    const bool done = i < kEntries - kOpen;
    entry.state = done ? "completed" : "scheduled";
    if (done) {
      entry.completed_ns = entry.created_ns + 500'000;
      ++group.completed;
    }
    entry.frames = {kFrames + i % 20};
    for (int f = 1; f < kFrames; ++f) entry.frames.push_back(f);
    dump.entries.push_back(std::move(entry));
  }
  return dump;
}

void FlightRecorder(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const int culprit = ranks / 2 + 3;
  std::string directory = (fs::temp_directory_path() / "rollcall-flight-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return state.SkipWithError("mkdtemp");
  RunInChild([&] {
    for (int r = 0; r < ranks; ++r) {
      std::ofstream(fmt::format("{}/comm_lib_trace_rank_{}", directory, r), std::ios::binary)
          << ToPickle(DumpOf(r, ranks, r == culprit));
    }
    return true;
  });
  uint64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(directory)) bytes += file.file_size();
  ChildCost cost;
  double peak_mb = 0;
  for (auto _ : state) {
    cost = RunInChild([&] {
      DiagnoseOptions options;
      options.job_ended = true;
      // The files have just been written, and the job stands still since its last entry.
      const Trace trace = LoadInputs({directory}).trace;
      const Report report = Diagnose(trace, options);
      return report.findings.size() == 1 && report.findings[0].kind == VerdictKind::kRankStalled &&
             report.findings[0].culprits == std::vector<int32_t>{culprit};
    });
    if (!cost.good) {
      state.SkipWithError("another verdict than that of the planted fault");
      break;
    }
    peak_mb = std::max(peak_mb, cost.peak_mb);
    state.SetIterationTime(cost.cpu_s);
  }
  state.counters["cpu_s"] = cost.cpu_s;
  state.counters["peak_MB"] = peak_mb;
  state.counters["files_MB"] = static_cast<double>(bytes) * 1e-6;
  fs::remove_all(directory);
}

BENCHMARK(FlightRecorder)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);

}  // namespace
