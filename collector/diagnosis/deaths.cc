#include "collector/diagnosis/deaths.h"

#include <algorithm>
#include <string_view>

namespace rollcall {
namespace {

bool Gone(const Process& process) {
  return process.end.how == ProcessEnd::How::kExited ||
         process.end.how == ProcessEnd::How::kSignaled ||
         process.end.how == ProcessEnd::How::kVanished;
}

// An exit outside every call, or a crash: nobody's clean-up.
bool EndedByItsOwnHand(const Process& process) {
  if (process.phase >= ring::Phase::kFinalizing || process.end.by_launcher) return false;
  if (process.end.how == ProcessEnd::How::kSignaled) {
    return process.end.status != 9 && process.end.status != 15;
  }
  return process.open_calls.empty() && process.errors_seen == 0;
}

bool IsInside(const Process& process) { return !process.open_calls.empty(); }

// SIGTERM and SIGKILL are what launchers end the rest of a job with, whoever sent them here.
bool MayBeCleanUp(const Process& process) {
  return process.end.how == ProcessEnd::How::kSignaled && !process.end.oom_killed &&
         (process.end.status == 15 || process.end.status == 9);
}

bool InTheBlur(const Process& a, const Process& b) {
  if (a.end.at_ns == kNoTime || b.end.at_ns == kNoTime) return true;
  const int64_t apart = a.end.at_ns - b.end.at_ns;
  return -kEndOrderBlurNs < apart && apart < kEndOrderBlurNs;
}

// Whether the launcher may have ended `process` because of `cause`.
bool EndsAnother(const Process& cause, const Process& process) {
  if (!Gone(cause)) return false;
  const bool before = cause.end.order < process.end.order;
  if (!InTheBlur(cause, process)) return before;
  if (EndedByItsOwnHand(cause)) return true;
  // Both were killed, and who was first is chance: one that was killed while it waited for others
  // is the less likely cause.
  const bool same_way = MayBeCleanUp(cause) && MayBeCleanUp(process);
  if (same_way && IsInside(cause) != IsInside(process)) return IsInside(process);
  return before;
}

// A hang had been reported, with this rank standing as it did to its end: the signal came from
// somebody who had seen the verdict, or had lost patience. What it did itself outside every call
// still counts, and so does the kernel's killing for want of memory.
bool EndedAfterVerdict(const Process& process) {
  const ProcessEnd& end = process.end;
  if (process.judged_ns == kNoTime || end.oom_killed) return false;
  if (end.at_ns != kNoTime && end.at_ns < process.judged_ns) return false;
  if (end.how == ProcessEnd::How::kExited) return IsInside(process);
  if (end.how == ProcessEnd::How::kVanished) return true;
  switch (end.status) {
    case 1:   // SIGHUP
    case 2:   // SIGINT
    case 3:   // SIGQUIT
    case 6:   // SIGABRT: sent for the sake of a core file
    case 9:   // SIGKILL
    case 15:  // SIGTERM
      return true;
    default:
      return false;
  }
}

// Open MPI's ranks end themselves when they lose the daemon that started them, as when somebody
// kills mpirun. Their status is then a code of its runtime, all of which are negative; what fatal
// errors of MPI end a rank with is not.
bool LostItsDaemon(const Trace& trace, const Process& process) {
  const bool by_exit =
      process.exit_mark == ring::ExitMark::kExit || process.exit_mark == ring::ExitMark::kQuickExit;
  if (!by_exit || process.exit_status >= 0 || process.exit_call_path == kNoIndex) return false;
  const std::vector<uint32_t>& codes = trace.call_paths[process.exit_call_path].codes;
  if (codes.empty()) return false;
  const std::string_view path = trace.codes[codes.front()].module_path;
  const std::string_view module = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kRuntimes[] = {"mca_ess_", "mca_errmgr_", "libopen-rte", "libprrte",
                                            "libpmix"};
  return std::any_of(std::begin(kRuntimes), std::end(kRuntimes),
                     [module](std::string_view runtime) { return module.starts_with(runtime); });
}

// All ranks that are here got, together, the signal by which launchers and batch systems ask a job
// to stop: whoever sent it meant the job.
bool JobWasAskedToStop(const Trace& trace, const Process& process) {
  const auto asked = [](const Process& other) {
    return other.end.how == ProcessEnd::How::kSignaled && other.end.status == 15;
  };
  if (!asked(process)) return false;
  const std::vector<uint32_t>& ranks = trace.worlds[process.world].processes;
  const auto is_here = [](uint32_t rank) { return rank != kNoIndex; };
  return std::count_if(ranks.begin(), ranks.end(), is_here) > 1 &&
         std::all_of(ranks.begin(), ranks.end(), [&](uint32_t rank) {
           if (!is_here(rank)) return true;
           const Process& other = trace.processes[rank];
           return asked(other) && InTheBlur(other, process);
         });
}

}  // namespace

bool DiedByItself(const Trace& trace, const Process& process) {
  if (process.phase >= ring::Phase::kFinalized) return false;
  if (process.end.by_launcher || process.end.by_rollcall) return false;
  if (LostItsDaemon(trace, process) || JobWasAskedToStop(trace, process)) return false;
  // One that had called exit() by then was on its way out, and the signal only hastened it.
  const bool leaving = process.exit_mark != ring::ExitMark::kNone && !IsInside(process);
  if (!leaving && EndedAfterVerdict(process)) return false;
  if (process.exit_mark != ring::ExitMark::kNone) return true;
  if (!Gone(process)) return false;
  if (process.end.how == ProcessEnd::How::kExited) return true;
  const std::vector<uint32_t>& others = trace.worlds[process.world].processes;
  if (process.end.how == ProcessEnd::How::kVanished) {
    // Gone together with everybody else, for a reason that nobody saw: the job was ended from
    // outside.
    return std::any_of(others.begin(), others.end(), [&](uint32_t other) {
      if (other == kNoIndex) return false;
      const Process& twin = trace.processes[other];
      // A verdict found the other one standing there, after this one had gone.
      const bool outlived = twin.judged_ns != kNoTime && process.end.at_ns != kNoTime &&
                            process.end.at_ns < twin.judged_ns;
      return outlived || twin.end.how == ProcessEnd::How::kAlive ||
             twin.end.how == ProcessEnd::How::kUnknown;
    });
  }
  if (!MayBeCleanUp(process)) return true;
  return std::none_of(others.begin(), others.end(), [&](uint32_t other) {
    return other != kNoIndex && &trace.processes[other] != &process &&
           !ShareProcess(trace.processes[other], process) &&
           EndsAnother(trace.processes[other], process);
  });
}

bool IsFirstDeathCertain(const Trace& trace, const Process& process) {
  if (!MayBeCleanUp(process)) return true;
  const std::vector<uint32_t>& others = trace.worlds[process.world].processes;
  return std::none_of(others.begin(), others.end(), [&](uint32_t other) {
    if (other == kNoIndex || &trace.processes[other] == &process) return false;
    const Process& twin = trace.processes[other];
    if (ShareProcess(twin, process)) return false;
    return Gone(twin) && MayBeCleanUp(twin) && !EndedAfterVerdict(twin) && !twin.end.by_launcher &&
           !twin.end.by_rollcall && InTheBlur(twin, process);
  });
}

}  // namespace rollcall
