// SPDX-License-Identifier: Apache-2.0
// Compares the diagnosis engine with the oracle on any number of traces:
//
//   oracle [--traces N] [--seed S]   prints a table; fails on a violation or a shortfall
//   oracle --one S:NUMBER            prints one trace of a run; fails on a violation
//
// Options of both:
//
//   --of devices      compares NCCL programs (device/) instead of MPI programs
//   --of loops        compares larger MPI programs, with loops and messages (loops/)
//   --of data         compares what is said of the data of collectives (data/)
//
// Options of the table:
//
//   --show KIND:HIT   also shows stuck traces of that row and column
//   --most N          shows at most N traces (10)
//   --jobs N          uses N threads (2)
//   --stop first      ends at the first violation
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/oracle/case.h"
#include "tests/oracle/data/judge.h"
#include "tests/oracle/device/judge.h"
#include "tests/oracle/judge.h"
#include "tests/oracle/loops/judge.h"

namespace rollcall::oracle {
namespace {

using device::Devices;
using loops::Loops;

struct Options {
  uint64_t traces = 2100;
  uint64_t seed = 1;
  std::string one;
  std::string show;
  size_t most = 10;
  uint64_t jobs = 2;
  bool stop = false;
};

template <typename Family>
int One(const std::string& name) {
  const size_t colon = name.find(':');
  const auto one = MakeCase<Family>(
      std::strtoull(name.c_str(), nullptr, 10),
      colon == std::string::npos ? 0 : std::strtoull(&name[colon + 1], nullptr, 10));
  typename Family::Observation seen;
  const Judgement judgement = RunCase<Family>(one, &seen);
  fmt::print("{}", ShowCase<Family>(one, seen, judgement));
  if (judgement.violations.empty()) return 0;
  fmt::print("--- smaller:\n{}", Family::Smaller(one.generated));
  return 1;
}

void PrintRow(std::string_view name, const Tally& tally) {
  fmt::print("| {} | {} | {} | {} ", name, tally.traces, tally.stuck, tally.proven);
  for (const uint64_t hits : tally.hits) fmt::print("| {} ", hits);
  fmt::print("| {} | {} ", tally.by_luck, tally.luck_said);
  uint64_t said = 0;
  for (int hit = 0; hit < kHits; ++hit) {
    if (hit != static_cast<int>(Hit::kMissed)) said += tally.silent_hits[hit];
  }
  fmt::print("| {} | {} | {} |\n", tally.silent, said,
             tally.silent_hits[static_cast<int>(Hit::kExact)]);
}

// Prints how often the kind of the first finding is right, by the certainty of the kind.
template <typename Family>
void PrintKinds(const Sample& sample) {
  fmt::print(
      "\n| planted | proven | right | likely | right | suspected | right |\n"
      "|---|---|---|---|---|---|---|\n");
  const auto row = [](std::string_view name, const Tally& tally) {
    fmt::print("| {} ", name);
    for (int i = 0; i < kCertainties; ++i) {
      fmt::print("| {} | {} ", tally.kinds[i], tally.kinds_right[i]);
    }
    fmt::print("|\n");
  };
  for (size_t kind = 0; kind < sample.by_kind.size(); ++kind) {
    const Tally& tally = sample.by_kind[kind];
    if (tally.kinds[0] + tally.kinds[1] + tally.kinds[2] == 0) continue;
    row(Family::kFaults[kind].text, tally);
  }
  row("all", sample.all);
}

// Prints by the certainty of the kind how often the first finding names the planted ranks (or
// reports a tie), also others, only others, or nobody.
template <typename Family>
void PrintNamed(const Sample& sample) {
  fmt::print(
      "\n| planted | stuck | proven | likely | suspected | missed "
      "| with source | exact or tie | wrong |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  const auto row = [](std::string_view name, const Tally& tally) {
    fmt::print("| {} | {} ", name, tally.stuck);
    for (const auto& named : tally.named) {
      const auto hits = [&named](Hit hit) { return named[static_cast<size_t>(hit)]; };
      fmt::print("| {}/{}/{}/{} ", hits(Hit::kExact) + hits(Hit::kTie), hits(Hit::kPartly),
                 hits(Hit::kWrong), hits(Hit::kNobody));
    }
    const auto hits = [&tally](Hit hit) { return tally.hits[static_cast<size_t>(hit)]; };
    const auto sourced = [&tally](Hit hit) { return tally.sourced_hits[static_cast<size_t>(hit)]; };
    fmt::print(
        "| {} | {} | {} | {} |\n", hits(Hit::kMissed) + hits(Hit::kInconclusive),
        std::accumulate(std::begin(tally.sourced_hits), std::end(tally.sourced_hits), uint64_t{0}),
        sourced(Hit::kExact) + sourced(Hit::kTie), sourced(Hit::kWrong));
  };
  for (size_t kind = 0; kind < sample.by_kind.size(); ++kind) {
    row(Family::kFaults[kind].text, sample.by_kind[kind]);
  }
  row("all", sample.all);
}

template <typename Family>
int Many(const Options& options) {
  const uint64_t seed = options.seed;
  const std::string& show = options.show;
  size_t shown = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  const auto visit = [&](uint64_t number, const auto& one, const auto& seen,
                         const Judgement& judgement) {
    const std::lock_guard lock(mutex);
    if (stopped) return false;
    if (options.stop && !judgement.violations.empty()) {
      fmt::print("VIOLATION {}\n", judgement.violations[0]);
      stopped = true;
      return false;
    }
    const bool wanted = judgement.stuck && show == fmt::format("{}:{}", number % KindsOf<Family>(),
                                                               static_cast<int>(judgement.hit));
    if ((judgement.violations.empty() && !wanted) || ++shown > options.most) return true;
    fmt::print("=== oracle --one {}:{}\n", seed, number);
    fmt::print("{}", ShowCase<Family>(one, seen, judgement));
    return true;
  };
  // Each of n threads takes every n-th trace, so the sum does not depend on n.
  std::vector<Sample> parts(options.jobs);
  std::vector<std::jthread> jobs;
  for (uint64_t i = 0; i < options.jobs; ++i) {
    jobs.emplace_back(
        [&, i] { parts[i] = CompareMany<Family>(seed, options.traces, visit, i, options.jobs); });
  }
  jobs.clear();
  Sample sample = std::move(parts[0]);
  for (uint64_t i = 1; i < options.jobs; ++i) {
    sample.all.Add(parts[i].all);
    for (size_t kind = 0; kind < sample.by_kind.size(); ++kind) {
      sample.by_kind[kind].Add(parts[i].by_kind[kind]);
    }
  }
  if (stopped) return 1;
  const Tally& all = sample.all;
  fmt::print(
      "| planted | traces | stuck | of these proven | exact | tie | partly | nobody | wrong | "
      "missed "
      "| inconclusive | a buffer would do | it says so | completed | something said | exact |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (size_t kind = 0; kind < sample.by_kind.size(); ++kind) {
    PrintRow(Family::kFaults[kind].text, sample.by_kind[kind]);
  }
  PrintRow("all", all);
  PrintKinds<Family>(sample);
  if (Family::kHasSources) PrintNamed<Family>(sample);
  fmt::print(
      "\n{} traces, seed {}: {} stuck ({:.0f}%), besides {} of which it may be too early, {} by "
      "luck of no buffer (said in {}), {} "
      "proven while one of those who wait may go on, {} with too many states, {} "
      "violations\n",
      all.traces, seed, all.stuck,
      100.0 * static_cast<double>(all.stuck) / static_cast<double>(all.traces), all.open,
      all.by_luck, all.luck_said, all.may_go_on, all.bounded, all.violations);
  fmt::print("{} completed and need a buffer (said of {})\n", all.unsafe, all.unsafe_said);
  const std::string shortfalls = Shortfalls<Family>(sample);
  fmt::print("{}", shortfalls);
  return all.violations == 0 && shortfalls.empty() ? 0 : 1;
}

template <typename Family>
int Run(const Options& options) {
  if (!options.one.empty()) return One<Family>(options.one);
  return Many<Family>(options);
}

int RunData(const Options& options) {
  if (!options.one.empty()) {
    const size_t colon = options.one.find(':');
    const uint64_t number =
        colon == std::string::npos ? 0 : std::strtoull(&options.one[colon + 1], nullptr, 10);
    const data::OneRun one = data::RunOne(std::strtoull(options.one.c_str(), nullptr, 10), number);
    fmt::print("{}", data::Show(one));
    return one.comparison.violations.empty() ? 0 : 1;
  }
  size_t shown = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  std::vector<data::Counted> parts(options.jobs);
  std::vector<std::jthread> jobs;
  for (uint64_t first = 0; first < options.jobs; ++first) {
    jobs.emplace_back([&, first] {
      for (uint64_t i = first; i < options.traces && !stopped; i += options.jobs) {
        const data::OneRun one = data::RunOne(options.seed, i);
        parts[first].Add(one);
        const data::Comparison& comparison = one.comparison;
        const bool wanted = comparison.took_effect &&
                            options.show == fmt::format("{}:{}", i % data::kFaultKinds,
                                                        static_cast<int>(comparison.named));
        if (comparison.violations.empty() && !wanted) continue;
        const std::lock_guard lock(mutex);
        if (options.stop && !comparison.violations.empty()) {
          fmt::print("VIOLATION {}\n", comparison.violations[0]);
          stopped = true;
        } else if (++shown <= options.most) {
          fmt::print("=== oracle --of data --one {}:{}\n{}", options.seed, i, data::Show(one));
        }
      }
    });
  }
  jobs.clear();
  if (stopped) return 1;
  data::Counted counted;
  for (const data::Counted& part : parts) counted.Add(part);
  const std::string shortfalls = data::Shortfalls(counted);
  fmt::print("{}\n{} programs, seed {}: in {} a fault took effect, {} violations\n{}",
             data::Tables(counted), counted.all.programs, options.seed, counted.all.took_effect,
             counted.all.violations, shortfalls);
  return counted.all.violations == 0 && shortfalls.empty() ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  std::string family;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--one") options.one = argv[i + 1];
    if (option == "--traces") options.traces = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--show") options.show = argv[i + 1];
    if (option == "--jobs") options.jobs = std::max(1, std::atoi(argv[i + 1]));
    if (option == "--most") options.most = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--stop") options.stop = true;
    if (option == "--of") family = argv[i + 1];
  }
  if (family == "data") return RunData(options);
  if (family == "loops") return Run<Loops>(options);
  return family == "devices" ? Run<Devices>(options) : Run<Mpi>(options);
}

}  // namespace
}  // namespace rollcall::oracle

int main(int argc, char** argv) { return rollcall::oracle::Main(argc, argv); }
