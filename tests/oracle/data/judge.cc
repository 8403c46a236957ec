// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/data/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/diagnosis/diagnose.h"
#include "collector/model/rank_set.h"
#include "tests/oracle/data/run_data.h"
#include "tests/oracle/machine.h"
#include "tests/oracle/observe.h"

namespace rollcall::oracle::data {
namespace {

bool IsOfKind(const Finding& finding, FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone:
      return false;
    case FaultKind::kNonFinite:
    case FaultKind::kMovedNonFinite:
      return finding.kind == VerdictKind::kNonFiniteInput;
    case FaultKind::kFlip:
    case FaultKind::kOverwrite:
      return finding.kind == VerdictKind::kResultDiffers;
    case FaultKind::kReordered:
    case FaultKind::kLastBit:
      return finding.kind == VerdictKind::kLastBitsDiffer;
    case FaultKind::kSame:
      return finding.kind == VerdictKind::kIdenticalInputs;
    case FaultKind::kDrift:
    case FaultKind::kReplica:
      return finding.kind == VerdictKind::kReplicaDrift;
  }
  return false;
}

std::string TextOf(const Finding& finding) {
  return fmt::format("{}, {}: {} [culprits {}]", KindName(finding.kind),
                     CertaintyName(finding.certainty), finding.title, FoldRanks(finding.culprits));
}

class Judge {
 public:
  Judge(const DataProgram& program, bool took_effect) : program_(program) {
    result_.took_effect = took_effect;
  }

  Comparison Run(const Report& report) {
    for (const Finding& finding : report.findings) {
      if (BasisOf(finding.kind) != KindBasis::kData) continue;
      Check(finding);
      result_.findings.push_back(finding);
    }
    if (result_.findings.empty()) return std::move(result_);
    const auto of_kind = std::find_if(
        result_.findings.begin(), result_.findings.end(),
        [this](const Finding& finding) { return IsOfKind(finding, program_.fault.kind); });
    const bool is_of_kind = of_kind != result_.findings.end();
    const Finding& finding = is_of_kind ? *of_kind : result_.findings.front();
    result_.certainty = finding.certainty;
    result_.named = NamedBy(finding, is_of_kind);
    return std::move(result_);
  }

 private:
  void Violation(std::string_view rule, const Finding& finding) {
    result_.violations.push_back(fmt::format("{}: {}", rule, TextOf(finding)));
  }

  bool IsInnocent(int rank) const { return !result_.took_effect || rank != program_.fault.rank; }

  void Check(const Finding& finding) {
    if (finding.certainty == Certainty::kProven &&
        std::any_of(finding.culprits.begin(), finding.culprits.end(),
                    [this](int rank) { return IsInnocent(rank); })) {
      Violation("proven, and an innocent rank is named", finding);
    }
    if (result_.took_effect) return;
    // Before they drift, all inputs are equal.
    const bool drifts = program_.fault.kind == FaultKind::kDrift;
    if (drifts && finding.kind == VerdictKind::kIdenticalInputs) return;
    Violation("found where no data is wrong", finding);
  }

  Named NamedBy(const Finding& finding, bool is_of_kind) const {
    const auto& culprits = finding.culprits;
    if (program_.fault.rank == kNone) {
      // A note of last bits blames nobody.
      if (is_of_kind && finding.kind == VerdictKind::kLastBitsDiffer) return Named::kExactly;
      if (culprits.empty()) return is_of_kind ? Named::kExactly : Named::kNobody;
      return Named::kWrong;
    }
    if (culprits.empty()) return Named::kNobody;
    const bool planted =
        std::find(culprits.begin(), culprits.end(), program_.fault.rank) != culprits.end();
    if (!planted) return Named::kWrong;
    return culprits.size() == 1 ? Named::kExactly : Named::kBesides;
  }

  const DataProgram& program_;
  Comparison result_;
};

std::string PlantedText(const DataProgram& program) {
  const auto kind = static_cast<size_t>(program.fault.kind);
  std::string text = fmt::format("planted: {}", kFaults[kind].text);
  if (program.fault.rank != kNone) text += fmt::format(", on rank {}", program.fault.rank);
  text += fmt::format("; {}", kVariations[static_cast<size_t>(program.variation)]);
  if (program.incomplete_rank != kNone) text += fmt::format(": rank {}", program.incomplete_rank);
  return text + "\n";
}

}  // namespace

OneRun RunOne(uint64_t seed, uint64_t number) {
  Random random(seed * 1'000'003 + number);
  OneRun one;
  one.program = Generate(static_cast<FaultKind>(number % kFaultKinds), &random);
  const Machine machine(one.program.program);
  RunData data(one.program, machine);
  Observation seen = Observe(one.program.program, machine, &random, &data);
  data.Attach(&seen.trace);
  one.comparison = Judge(one.program, data.took_effect()).Run(Diagnose(seen.trace));
  one.text = seen.text + data.log();
  return one;
}

std::string Show(const OneRun& one) {
  std::string text = PlantedText(one.program) + Text(one.program.program) + one.text;
  text += one.comparison.took_effect ? "the fault took effect\n" : "no fault took effect\n";
  for (const Finding& finding : one.comparison.findings) {
    text += fmt::format("finding: {}\n", TextOf(finding));
    for (const std::string& note : finding.notes) text += fmt::format("  note: {}\n", note);
  }
  for (const std::string& violation : one.comparison.violations) {
    text += fmt::format("VIOLATION {}\n", violation);
  }
  return text;
}

void Counts::Add(const Comparison& comparison) {
  ++programs;
  violations += !comparison.violations.empty();
  if (!comparison.took_effect) {
    findings += !comparison.findings.empty();
    return;
  }
  ++took_effect;
  const auto certainty = static_cast<size_t>(comparison.certainty);
  if (comparison.named == Named::kSilent || certainty >= kCertainties) {
    ++silent;
  } else {
    ++named[certainty][static_cast<size_t>(comparison.named)];
  }
}

void Counts::Add(const Counts& other) {
  programs += other.programs;
  took_effect += other.took_effect;
  silent += other.silent;
  findings += other.findings;
  violations += other.violations;
  for (size_t c = 0; c < kCertainties; ++c) {
    for (size_t n = 0; n < kNamed; ++n) named[c][n] += other.named[c][n];
  }
}

uint64_t Counts::Sum(Named how) const {
  uint64_t sum = how == Named::kSilent ? silent : 0;
  for (const auto& of_certainty : named) sum += of_certainty[static_cast<size_t>(how)];
  return sum;
}

void Counted::Add(const OneRun& one) {
  const auto kind = static_cast<size_t>(one.program.fault.kind);
  all.Add(one.comparison);
  (one.program.variation == Variation::kNone ? whole : varied)[kind].Add(one.comparison);
  variations[static_cast<size_t>(one.program.variation)].Add(one.comparison);
}

void Counted::Add(const Counted& other) {
  all.Add(other.all);
  for (size_t i = 0; i < kFaultKinds; ++i) {
    whole[i].Add(other.whole[i]);
    varied[i].Add(other.varied[i]);
  }
  for (size_t i = 0; i < kVariationKinds; ++i) variations[i].Add(other.variations[i]);
}

std::string Shortfalls(const Counted& counted) {
  // A deviation of this many programs is not significant in a sample of a hundred.
  constexpr uint64_t kByChance = 2;
  std::string text;
  for (size_t kind = 0; kind < kFaultKinds; ++kind) {
    const FaultInfo& fault = kFaults[kind];
    const uint64_t named = counted.whole[kind].Sum(Named::kExactly);
    const uint64_t of = counted.whole[kind].took_effect;
    if ((named + kByChance) * 100 < of * static_cast<uint64_t>(fault.named)) {
      text += fmt::format("{}: named in {} of {}, wanted are {}%\n", fault.text, named, of,
                          fault.named);
    }
    const uint64_t wrong =
        counted.whole[kind].Sum(Named::kWrong) + counted.varied[kind].Sum(Named::kWrong);
    const uint64_t all = of + counted.varied[kind].took_effect;
    if (wrong * 100 > all * static_cast<uint64_t>(fault.others) + kByChance * 100) {
      text += fmt::format("{}: only others are named in {} of {}, {}% may be\n", fault.text, wrong,
                          all, fault.others);
    }
  }
  return text;
}

std::string Tables(const Counted& counted) {
  std::string text;
  const auto head = [&](std::string_view first) {
    text += fmt::format("| {} | programs | took effect", first);
    for (const std::string_view certainty : {"proven", "likely", "suspected"}) {
      for (size_t n = 0; n + 1 < kNamed; ++n) {
        text += n == 0 ? fmt::format(" | {}: {}", certainty, kNamedTexts[n])
                       : fmt::format(" | {}", kNamedTexts[n]);
      }
    }
    text += " | silent | found without effect |\n|---";
    for (int i = 0; i < 4 + 3 * (kNamed - 1); ++i) text += "|---";
    text += "|\n";
  };
  const auto row = [&](std::string_view name, const Counts& counts) {
    text += fmt::format("| {} | {} | {}", name, counts.programs, counts.took_effect);
    for (const auto& of_certainty : counts.named) {
      for (size_t n = 0; n + 1 < kNamed; ++n) text += fmt::format(" | {}", of_certainty[n]);
    }
    text += fmt::format(" | {} | {} |\n", counts.silent, counts.findings);
  };
  head("planted, everything is read");
  for (size_t i = 0; i < kFaultKinds; ++i) row(kFaults[i].text, counted.whole[i]);
  text += '\n';
  head("planted, something is missing");
  for (size_t i = 0; i < kFaultKinds; ++i) row(kFaults[i].text, counted.varied[i]);
  text += '\n';
  head("records");
  for (size_t i = 0; i < kVariationKinds; ++i) row(kVariations[i], counted.variations[i]);
  row("all", counted.all);
  return text;
}

}  // namespace rollcall::oracle::data
