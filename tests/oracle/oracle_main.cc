// The diagnosis engine against the oracle, on as many traces as one likes:
//   oracle [--traces N] [--seed S]   compares, and prints a table; fails on any violation
//   oracle --one S:NUMBER            shows one trace of a run, and its verdict
//   … --show KIND:HIT                besides, shows stuck traces of that row and column of the
//   table … --stop first                   ends with the first violation
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "collector/model/rank_set.h"
#include "tests/oracle/judge.h"

namespace rollcall::oracle {
namespace {

constexpr size_t kMostShown = 10;

void Show(const Case& one, const Observation& seen, const Judgement& judgement) {
  fmt::print("planted: {}, by {}\n{}{}", kFaultTexts[static_cast<int>(one.generated.planted.kind)],
             FoldRanks(one.generated.planted.ranks), Text(one.generated.program), seen.text);
  for (const Finding& finding : judgement.report.findings) {
    fmt::print("finding: {}{}, {}: {} [culprits {}, waiting {}]\n", finding.hangs ? "" : "silent ",
               KindName(finding.kind), CertaintyName(finding.certainty), finding.title,
               FoldRanks(finding.culprits), FoldRanks(finding.waiting));
    for (const std::string& note : finding.notes) fmt::print("  note: {}\n", note);
  }
  for (const std::string& violation : judgement.violations) {
    fmt::print("VIOLATION {}\n", violation);
  }
}

int One(const std::string& name) {
  const size_t colon = name.find(':');
  const Case one =
      MakeCase(std::strtoull(name.c_str(), nullptr, 10),
               colon == std::string::npos ? 0 : std::strtoull(&name[colon + 1], nullptr, 10));
  Observation seen;
  const Judgement judgement = RunCase(one, &seen);
  Show(one, seen, judgement);
  if (!judgement.violations.empty()) fmt::print("--- smaller:\n{}", Shrink(one.generated));
  return judgement.violations.empty() ? 0 : 1;
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

int Many(uint64_t traces, uint64_t seed, const std::string& show, bool stop) {
  Tally tallies[kFaultKinds];
  Tally all;
  size_t shown = 0;
  for (uint64_t number = 0; number < traces; ++number) {
    const Case one = MakeCase(seed, number);
    Observation seen;
    const Judgement judgement = RunCase(one, &seen);
    tallies[number % kFaultKinds].Add(judgement);
    all.Add(judgement);
    if (stop && !judgement.violations.empty()) {
      fmt::print("VIOLATION {}\n", judgement.violations[0]);
      return 1;
    }
    const bool wanted = judgement.stuck && show == fmt::format("{}:{}", number % kFaultKinds,
                                                               static_cast<int>(judgement.hit));
    if ((judgement.violations.empty() && !wanted) || ++shown > kMostShown) continue;
    fmt::print("=== oracle --one {}:{}\n", seed, number);
    Show(one, seen, judgement);
  }
  fmt::print(
      "| planted | traces | stuck | of these proven | exact | tie | partly | nobody | wrong | "
      "missed "
      "| inconclusive | a buffer would do | it says so | completed | something said | exact |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int kind = 0; kind < kFaultKinds; ++kind) PrintRow(kFaultTexts[kind], tallies[kind]);
  PrintRow("all", all);
  fmt::print(
      "\n{} traces, seed {}: {} stuck ({:.0f}%), {} by luck of no buffer (said in {}), {} "
      "proven while one of those who wait may go on, {} with too many states, {} "
      "violations\n",
      all.traces, seed, all.stuck,
      100.0 * static_cast<double>(all.stuck) / static_cast<double>(all.traces), all.by_luck,
      all.luck_said, all.may_go_on, all.bounded, all.violations);
  fmt::print("{} completed and need a buffer (said of {})\n", all.unsafe, all.unsafe_said);
  const std::string shortfalls = Shortfalls(tallies);
  fmt::print("{}", shortfalls);
  return all.violations == 0 && shortfalls.empty() ? 0 : 1;
}

}  // namespace
}  // namespace rollcall::oracle

int main(int argc, char** argv) {
  uint64_t traces = 2100;
  uint64_t seed = 1;
  std::string show;
  bool stop = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--one") return rollcall::oracle::One(argv[i + 1]);
    if (option == "--traces") traces = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--show") show = argv[i + 1];
    if (option == "--stop") stop = true;
  }
  return rollcall::oracle::Many(traces, seed, show, stop);
}
