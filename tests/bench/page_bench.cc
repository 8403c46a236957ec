// SPDX-License-Identifier: Apache-2.0
// The report page of a job of 16,384 ranks with 2,000 records each: time beyond the diagnosis, and
// size, against the targets in docs/report.md. Once as the job is, where most ranks do the same,
// and once where no two ranks are alike.
//
// Needs 5 GB in TMPDIR. With PAGES=DIR the pages are kept there, for the tests in report/.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "collector/export/exporter.h"
#include "collector/import/load_inputs.h"
#include "tests/support/ring_job_files.h"

namespace {

namespace fs = std::filesystem;
using namespace rollcall;
using namespace rollcall::ring_job;

constexpr int32_t kRanks = 16384;
constexpr uint32_t kRecords = 2000;
constexpr size_t kMaxBytes = 1'000'000;
constexpr double kMaxSeconds = 1;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The newest calls of each rank get a call path of their own.
void MakeAllDiffer(Trace* trace) {
  constexpr size_t kNewest = 64;
  std::vector<uint32_t> path_of;  // by process
  for (uint32_t i = 0; i < trace->processes.size(); ++i) {
    CallPath path = trace->call_paths.front();
    Code code;
    code.frames.resize(1);
    code.frames.front().function = fmt::format("Leaf{}", i);
    path.codes.insert(path.codes.begin(), static_cast<uint32_t>(trace->codes.size()));
    trace->codes.push_back(std::move(code));
    path_of.push_back(static_cast<uint32_t>(trace->call_paths.size()));
    trace->call_paths.push_back(std::move(path));
    for (OpenCall& open : trace->processes[i].open_calls) open.event.call_path = path_of.back();
  }
  for (Member& member : trace->members) {
    const size_t count = member.events.size();
    for (size_t i = count - std::min(count, kNewest); i < count; ++i) {
      member.events[i].call_path = path_of[member.process];
    }
  }
}

void Page(benchmark::State& state) {
  const bool differ = state.range(0) != 0;
  state.SetLabel(differ ? "all ranks differ" : "as it is");
  std::string directory = (fs::temp_directory_path() / "rollcall-rings-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return state.SkipWithError("mkdtemp");
  WriteRings(Job({kRanks, kRecords, Fault::kSkipped}), directory);
  for (auto _ : state) {
    Trace trace = LoadInputs({directory}).trace;
    NamePlaces(&trace);
    if (differ) MakeAllDiffer(&trace);
    DiagnoseOptions options;
    options.job_ended = true;
    const double begin = Seconds();
    const Report report = Diagnose(trace, options);
    const double diagnosed = Seconds();
    std::ostringstream page;
    FindExporter("html")->write({trace, report, options, JudgeAll(report), {}, "", "bench"}, page);
    const double written = Seconds();
    state.SetIterationTime(written - diagnosed);
    const std::string text = page.str();
    state.counters["diagnosis_s"] = diagnosed - begin;
    state.counters["page_s"] = written - diagnosed;
    state.counters["bytes"] = static_cast<double>(text.size());
    if (const char* pages = getenv("PAGES")) {
      std::ofstream(fs::path(pages) / (differ ? "unlike.html" : "alike.html")) << text;
    }
    if (text.size() > kMaxBytes || written - diagnosed > kMaxSeconds) fmt::print("MISSED\n");
  }
  fs::remove_all(directory);
}
BENCHMARK(Page)->Arg(0)->Arg(1)->Iterations(1)->UseManualTime()->Unit(benchmark::kSecond);

}  // namespace
