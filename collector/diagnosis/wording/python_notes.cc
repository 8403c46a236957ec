// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/python_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

std::string ReleaseText(uint32_t hex) {
  return fmt::format("Python {}.{}.{}", hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff);
}

std::string_view ReasonText(const Process& process) {
  if (process.python_state == ring::PythonState::kUnchecked) {
    return "the interpreter was not verified: no recorded call held the GIL";
  }
  switch (process.python_off) {
    case ring::PythonOff::kAsked:
      return "switched off by ROLLCALL_PYTHON=0";
    case ring::PythonOff::kVersion:
      return "the layout of this version is not known";
    case ring::PythonOff::kBuild:
      return "a free-threaded or debug build, or not CPython";
    case ring::PythonOff::kDiffers:
      return "a frame that was read differs from what the interpreter reports";
    case ring::PythonOff::kNoMemory:
      return "no memory for them";
    case ring::PythonOff::kNone:
    case ring::PythonOff::kFinalizing:
      break;
  }
  return "";
}

}  // namespace

void AddContextNotes(const Analysis& analysis, Finding* finding) {
  for (const Site& site : finding->sites) {
    if (site.call_path == kNoIndex) continue;
    const CallPath& path = analysis.trace.call_paths[site.call_path];
    if (path.python_end != ring::PythonEnd::kNoFrames) continue;
    std::string note =
        fmt::format("{} made {} in a thread that runs no Python", RanksPhrase(site.ranks),
                    site.what.substr(0, site.what.find("  (")));
    if (path.context != kNoIndex) {
      const SourceFrame frame = analysis.sites.UserFrame(path.context);
      note += fmt::format("; for context only: the main thread was then at {}, in {}",
                          PlaceText(frame), FunctionText(frame));
    }
    if (!Contains(finding->notes, note)) {
      finding->notes.push_back(std::move(note));
    }
  }
}

void AddPythonStateNotes(const Trace& trace, Report* report) {
  // In a healthy job no stack is requested, so a missing one is not reported.
  const bool wrong = std::ranges::any_of(report->findings, [](const Finding& finding) {
    return KindSeverity(finding.kind) == Severity::kError;
  });
  std::map<std::tuple<std::string_view, uint32_t>, std::vector<int32_t>> ranks;
  for (const Process& process : trace.processes) {
    const bool unchecked = process.python_state == ring::PythonState::kUnchecked;
    if (process.python_state != ring::PythonState::kOff && !(unchecked && wrong)) continue;
    const std::string_view reason = ReasonText(process);
    if (!reason.empty()) ranks[{reason, process.python_version}].push_back(process.rank);
  }
  std::vector<int32_t> unreadable;
  uint64_t stacks = 0;
  for (const Process& process : trace.processes) {
    if (process.python_unreadable == 0 || !wrong) continue;
    unreadable.push_back(process.rank);
    stacks += process.python_unreadable;
  }
  if (!unreadable.empty()) {
    Normalize(&unreadable);
    report->notes.push_back(fmt::format(
        "{} of {} could not be read", CountText(stacks, "Python stack"), RanksPhrase(unreadable)));
  }
  for (auto& [key, those] : ranks) {
    Normalize(&those);
    report->notes.push_back(fmt::format("no Python frames of {} ({}): {}", RanksPhrase(those),
                                        ReleaseText(std::get<1>(key)), std::get<0>(key)));
  }
}

}  // namespace rollcall
