// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/uncaught-exception.md
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "collector/diagnosis/rules/ended.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// "STOP" or "ERROR STOP" if that statement ended a Fortran program; otherwise empty. gfortran's
// library has functions for the forms of each statement.
std::string_view StopStatement(const Trace& trace, const Process& process) {
  if (process.exit_call_path == kNoIndex) return {};
  for (const uint32_t code : trace.call_paths[process.exit_call_path].codes) {
    for (const SourceFrame& frame : trace.codes[code].frames) {
      if (frame.function.starts_with("_gfortran_stop_")) return "STOP";
      if (frame.function.starts_with("_gfortran_error_stop_")) return "ERROR STOP";
    }
  }
  return {};
}

// What happened to the process afterwards, as far as it is known.
std::string WhatFollowed(const Process& process) {
  if (process.exit_mark == ring::ExitMark::kMpiAbort) return EndText(process);
  if (process.end.how == ProcessEnd::How::kExited) return EndText(process);
  // A Python rank waits in MPI_Finalize. It does not matter who ended the rank there.
  if (process.exception && process.exception->kind == ring::ExceptionKind::kPython) {
    return IsGone(process) ? "was shutting down" : "is shutting down";
  }
  return process.end.how == ProcessEnd::How::kAlive ? "is being ended" : EndText(process);
}

std::string AtPlace(const SourceFrame& frame) {
  const std::string place = PlaceText(frame);
  return place.empty() ? "" : " at " + place;
}

// Other ranks that raised an exception.
void AddOthers(const Analysis& analysis, const Incident& incident, Finding* finding) {
  for (size_t i = 1; i < incident.deviating.size(); ++i) {
    const uint32_t p = incident.deviating[i];
    const std::optional<UncaughtException>& exception = analysis.trace.processes[p].exception;
    if (!exception) continue;
    finding->notes.push_back(fmt::format("rank {} {}{}", analysis.RankOf(p), RaisedText(*exception),
                                         AtPlace(analysis.sites.UserFrame(exception->call_path))));
  }
}

}  // namespace

std::optional<Finding> JudgeUncaughtException(const Analysis& analysis, const Incident& incident,
                                              const Divergence&) {
  if (incident.what != Incident::What::kDeath) return std::nullopt;
  const uint32_t first = incident.deviating.front();
  const Process& process = analysis.trace.processes[first];
  const std::string_view stop = StopStatement(analysis.trace, process);
  if (!process.exception && stop.empty()) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kUncaughtException);
  const uint32_t path = process.exception ? process.exception->call_path : process.exit_call_path;
  const SourceFrame frame = analysis.sites.UserFrame(path);
  const std::string did =
      process.exception ? RaisedText(*process.exception) : fmt::format("executed {}", stop);
  finding.title = fmt::format("rank {} {}{} and {}{}", analysis.RankOf(first), did, AtPlace(frame),
                              WhatFollowed(process), WaitingText(analysis, incident, finding));
  if (!process.exception) {
    finding.why = fmt::format("{} ends the program, here without MPI_Finalize", stop);
    for (Site& site : finding.sites) {
      if (!site.culprit) continue;
      site.call_path = path;
      site.frame = frame;
    }
  } else if (process.exception->in_log) {
    finding.why = "the rank printed the exception and left; it takes part in no further operation";
  } else if (process.exception->kind == ring::ExceptionKind::kPython) {
    finding.why =
        "the exception is not caught: Python shuts down, and the rank takes part in no further "
        "operation";
    if (process.without_mpi) finding.fix = "fix the cause of the exception";
  } else {
    finding.why = "the exception is not caught: std::terminate ended the process";
  }
  AddOthers(analysis, incident, &finding);
  AddCleanUpNote(analysis.trace, &finding);
  AddClockNote(analysis, incident, &finding);
  return finding;
}

}  // namespace rollcall
