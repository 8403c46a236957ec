// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_beside_records.h"

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

#include "collector/base/find.h"
#include "collector/import/interner.h"
#include "collector/import/logs/log_parts.h"

namespace rollcall::logs {
namespace {

using How = ProcessEnd::How;

// A rank cannot leave these calls by an exception of its own.
bool WaitsInMpi(const Trace& trace, const Process& process) {
  return std::ranges::any_of(process.open_calls, [&trace](const OpenCall& call) {
    return !IsC10d(trace.arguments[call.event.arguments].operation);
  });
}

// Whether the process is known to have left by itself, and not well. A process that has finalized
// has handled its exceptions.
bool LeftInFailure(const Trace& trace, const Process& process) {
  const ProcessEnd& end = process.end;
  if (process.phase >= ring::Phase::kFinalized || end.by_launcher) return false;
  if (process.exit_mark != ring::ExitMark::kNone) return process.exit_status != 0;
  const bool gone = end.how == How::kVanished || (end.how == How::kExited && end.status != 0) ||
                    (end.how == How::kSignaled && end.status == SIGABRT);
  return gone && !end.by_rollcall && !WaitsInMpi(trace, process);
}

// The same, and true if nobody observed whether the process ended.
bool MayHaveLeftInFailure(const Trace& trace, const Process& process) {
  const bool unseen = process.end.how == How::kUnknown &&
                      process.exit_mark == ring::ExitMark::kNone &&
                      process.phase < ring::Phase::kFinalizing;
  return unseen ? !WaitsInMpi(trace, process) : LeftInFailure(trace, process);
}

bool AddEnd(const ProcessEnd& stated, ProcessEnd* end) {
  const bool unseen =
      end->how == How::kUnknown || (end->how == How::kVanished && !end->by_launcher);
  if (!stated.parent_saw || !unseen || end->parent_saw || end->by_rollcall) return false;
  const ProcessEnd observed = std::exchange(*end, stated);
  end->order = observed.order;  // the log has numbers of its own
  if (observed.at_ns != kNoTime) end->at_ns = observed.at_ns;
  return true;
}

bool AddException(const Writer& writer, const Trace& trace, Process* process, Interner* interner) {
  if (!writer.exception || process->exception || !MayHaveLeftInFailure(trace, *process)) {
    return false;
  }
  process->exception = writer.exception;
  process->exception->in_log = true;
  process->exception->call_path = PathOf(writer.exception_frames, interner);
  // Clock and time zone of the log are unknown. The end is the latest time that is possible.
  process->exception->at_ns = process->exit_ns != kNoTime ? process->exit_ns : process->end.at_ns;
  return true;
}

void AddWriter(const LogJob& job, const Writer& writer, uint32_t p, Trace* trace,
               Interner* interner) {
  Process& process = trace->processes[p];
  const bool ended = AddEnd(writer.end, &process.end);
  const bool raised = AddException(writer, *trace, &process, interner);
  if (!ended && !raised) return;
  for (const Quote& quote : writer.quotes) {
    if (!quote.group.empty() || !job.files[quote.file].lines_before) continue;
    trace->log_lines.push_back(job.LineOf(quote));
    trace->log_lines.back().process = p;
  }
}

}  // namespace

void AddToRecords(const LogJob& job, const FoundRanks& found, Trace* trace) {
  Interner interner(trace);
  std::vector<uint32_t> unexplained;
  for (const uint32_t p : trace->worlds[0].processes) {
    if (p == kNoIndex) continue;
    const Process& process = trace->processes[p];
    const auto* writer = FindOrNull(found.ranks, process.rank);
    if (writer != nullptr) AddWriter(job, *writer, p, trace, &interner);
    if (!process.exception && LeftInFailure(*trace, process)) unexplained.push_back(p);
  }
  // A traceback without a rank is that of the one rank that left in failure.
  if (found.unknown && found.unknown->exceptions == 1 && unexplained.size() == 1) {
    AddWriter(job, *found.unknown, unexplained.front(), trace, &interner);
  }
}

}  // namespace rollcall::logs
