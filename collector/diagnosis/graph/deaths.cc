// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/deaths.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

namespace rollcall {
namespace {

// The error if the offset of two clocks is unknown: decades.
constexpr int64_t kUnknownErrorNs = int64_t{1} << 61;

// An error that MPI reported may be caused by another rank's end. An error of a rejected call is
// caused by this rank's own arguments.
bool SawOnlyItsOwnErrors(const Process& process) {
  return process.errors_seen <= process.rejected.size();
}

// An exit outside every call, or a crash: not a clean-up by another process.
bool EndedByItsOwnHand(const Process& process) {
  if (process.phase >= ring::Phase::kFinalizing || process.end.by_launcher) return false;
  if (process.end.how == ProcessEnd::How::kSignaled) {
    return process.end.status != 9 && process.end.status != 15;
  }
  return process.open_calls.empty() && SawOnlyItsOwnErrors(process);
}

bool IsInside(const Process& process) { return !process.open_calls.empty(); }

// Whether the process was killed without the rest of the job. A launcher's SIGKILL also reaches the
// parent, which then reports nothing, or which was asked to stop before.
bool WasKilledAlone(const Process& process) {
  const ProcessEnd& end = process.end;
  return end.how == ProcessEnd::How::kSignaled && end.status == 9 && end.parent_saw &&
         !end.by_launcher && !end.by_rollcall;
}

// Launchers end the rest of a job with SIGTERM and SIGKILL. The sender of this signal is unknown.
bool MayBeCleanUp(const Process& process) {
  return process.end.how == ProcessEnd::How::kSignaled && !process.end.oom_killed &&
         (process.end.status == 15 || process.end.status == 9);
}

bool IsOrderUncertain(const Process& a, const Process& b) {
  if (a.end.at_ns == kNoTime || b.end.at_ns == kNoTime) return true;
  const int64_t apart = std::abs(a.end.at_ns - b.end.at_ns);
  return apart < kEndOrderBlurNs + ClockErrorNs(a, b);
}

// Whether MPI may have ended `process`, inside a call, because `killed` was killed alone. MPI ends
// ranks that lose a connection, by exit() or by a signal. The ends of these ranks may be noticed
// first.
bool IsReaction(const Process& killed, const Process& process) {
  if (!WasKilledAlone(killed) || WasKilledAlone(process) || process.end.oom_killed) return false;
  return IsInside(process) && HasEnded(process.end) &&
         process.exit_mark != ring::ExitMark::kMpiAbort && !ShareProcess(killed, process) &&
         IsOrderUncertain(killed, process);
}

// Whether the launcher may have ended `process` because of `cause`.
bool EndsAnother(const Trace& trace, const Process& cause, const Process& process) {
  // After the exception the job was ended, by hand or by the launcher, because it could not
  // continue. But the exception may also be the result of a lost connection to `process`. SIGTERM
  // excludes that: launchers ask the other ranks to stop.
  const bool may_react = FailedInACall(trace, cause) && process.end.status != 15;
  if (cause.exception && !may_react) {
    return process.end.at_ns == kNoTime ||
           cause.exception->at_ns - process.end.at_ns < ClockErrorNs(cause, process);
  }
  // MPICH's launcher kills the other ranks as soon as it receives an error report, perhaps before
  // the rank with the error has exited.
  if (!HasEnded(cause.end)) {
    return cause.reports_error_ns != kNoTime &&
           (process.end.at_ns == kNoTime ||
            cause.reports_error_ns - process.end.at_ns < ClockErrorNs(cause, process));
  }
  const bool before = cause.end.order < process.end.order;
  if (!IsOrderUncertain(cause, process)) return before;
  // How `cause` ended was not observed.
  if (cause.end.how == ProcessEnd::How::kVanished && process.end.parent_saw) return before;
  if (IsReaction(process, cause)) return false;
  if (EndedByItsOwnHand(cause)) return true;
  // Both were killed, and the observed order is a matter of chance. A process that was killed while
  // it waited for others is the less likely cause.
  const bool same_way = MayBeCleanUp(cause) && MayBeCleanUp(process);
  if (same_way && IsInside(cause) != IsInside(process)) return IsInside(process);
  return before;
}

// Whether the rank ended after a hang had been reported, without having moved since. The signal
// then came from a user who had seen the verdict or lost patience. An exit of the rank itself
// outside every call is not excused by the verdict, and neither is the kernel's out-of-memory
// killer.
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

// Open MPI's ranks end themselves when they lose the daemon that started them, for example when a
// user kills mpirun. They exit in Open MPI's runtime, with an exit code of the runtime. These codes
// are negative. The code -1 is excluded: with it the library ends a rank that failed itself, for
// example by a network error.
bool LostItsDaemon(const Trace& trace, const Process& process) {
  const bool by_exit =
      process.exit_mark == ring::ExitMark::kExit || process.exit_mark == ring::ExitMark::kQuickExit;
  if (!by_exit || process.exit_status >= -1 || process.exit_call_path == kNoIndex) return false;
  const std::vector<uint32_t>& codes = trace.call_paths[process.exit_call_path].codes;
  if (codes.empty()) return false;
  const std::string_view path = trace.codes[codes.front()].module_path;
  const std::string_view module = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kRuntimes[] = {"mca_ess_", "mca_errmgr_", "libopen-rte", "libprrte",
                                            "libpmix"};
  return std::ranges::any_of(
      kRuntimes, [module](std::string_view runtime) { return module.starts_with(runtime); });
}

// The signals by which launchers and batch systems ask a job to stop.
bool WasAskedToStop(const Process& process) {
  return process.end.how == ProcessEnd::How::kSignaled && process.end.status == 15;
}

// The ends of ranks that were sent one signal at the same time are at most this far apart. After
// Open MPI has lost a rank, it waits for a second before it ends the others.
constexpr int64_t kTogetherNs = 250'000'000;

// Whether a process that does not use MPI ended with 0 outside of all calls: it had nothing else to
// do. A child that Python's multiprocessing has forked ends this way, by _exit(0).
bool LeftWithoutMpi(const Process& process) {
  return process.without_mpi && process.exit_mark != ring::ExitMark::kNone &&
         process.exit_mark != ring::ExitMark::kMpiAbort && process.exit_status == 0 &&
         !IsInside(process) && !process.exception;
}

}  // namespace

Deaths::Deaths(const Trace& trace) : trace_(trace), killed_alone_(trace.worlds.size()) {
  for (const World& world : trace.worlds) CheckWorld(world);
  for (const Process& process : trace.processes) {
    if (WasKilledAlone(process)) killed_alone_[process.world].push_back(&process);
  }
  CheckLosses();
}

// Sets `asked_to_stop_` if all ranks with traces were ended by SIGTERM at the same time: the signal
// was sent to the whole job. Sets `all_left_`.
void Deaths::CheckWorld(const World& world) {
  const Process* first = nullptr;
  const Process* last = nullptr;
  const Process* one = nullptr;
  bool several = false;
  bool all = true;
  for (const uint32_t rank : world.processes) {
    if (rank == kNoIndex) continue;
    const Process& process = trace_.processes[rank];
    // If the launcher ended a rank because of another rank, the signal was not sent to the whole
    // job.
    all &= WasAskedToStop(process) && !process.end.by_launcher;
    several |= one != nullptr && !ShareProcess(*one, process);
    if (one == nullptr) one = &process;
    const int64_t at_ns = process.end.at_ns;
    if (at_ns == kNoTime) continue;
    if (first == nullptr || at_ns < first->end.at_ns) first = &process;
    if (last == nullptr || at_ns > last->end.at_ns) last = &process;
  }
  const bool together = first == nullptr || last->end.at_ns - first->end.at_ns <
                                                kTogetherNs + ClockErrorNs(*first, *last);
  asked_to_stop_.push_back(all && several && together);
  all_left_.push_back(std::ranges::all_of(world.processes, [this](uint32_t rank) {
    return rank == kNoIndex || LeftWithoutMpi(trace_.processes[rank]);
  }));
}

void Deaths::CheckLosses() {
  std::map<std::pair<uint32_t, std::string>, int> statuses;
  for (const Process& process : trace_.processes) {
    const bool lost = LostItsDaemon(trace_, process);
    if (!lost && (!HasEnded(process.end) || process.phase >= ring::Phase::kFinalized)) continue;
    std::pair<uint32_t, std::string> place{process.world, process.host};
    const int status = lost ? process.exit_status : 0;
    if (!lost || statuses.try_emplace(place, status).first->second != status) {
      other_ends_.insert(std::move(place));
    }
  }
}

bool Deaths::ByItself(const Process& process) const {
  if (process.phase >= ring::Phase::kFinalized && !process.ended_by) return false;
  if (process.end.by_launcher || process.end.by_rollcall) return false;
  if (asked_to_stop_[process.world] || all_left_[process.world]) return false;
  if (LostItsDaemon(trace_, process) && !other_ends_.contains({process.world, process.host})) {
    return false;
  }
  const std::vector<const Process*>& killed = killed_alone_[process.world];
  if (std::ranges::any_of(killed,
                          [&](const Process* other) { return IsReaction(*other, process); })) {
    return false;
  }
  // A rank that had called exit() by then was exiting anyway.
  const bool leaving = process.exit_mark != ring::ExitMark::kNone && !IsInside(process);
  if (!leaving && EndedAfterVerdict(process)) return false;
  if (process.exit_mark != ring::ExitMark::kNone) return true;
  if (!HasEnded(process.end)) return false;
  if (process.end.how == ProcessEnd::How::kExited) return true;
  const std::vector<uint32_t>& others = trace_.worlds[process.world].processes;
  if (process.end.how == ProcessEnd::How::kVanished) {
    if (process.end.parent_saw || process.end.with_node) return true;  // by the launcher's log
    // If all processes vanished together, for an unobserved reason, the job was ended from outside.
    return std::ranges::any_of(others, [&](uint32_t other) {
      if (other == kNoIndex) return false;
      const Process& sibling = trace_.processes[other];
      // A verdict reported that the other process waited after this process had ended.
      const bool outlived = sibling.judged_ns != kNoTime && process.end.at_ns != kNoTime &&
                            sibling.judged_ns - process.end.at_ns > ClockErrorNs(process, sibling);
      return outlived || sibling.end.how == ProcessEnd::How::kAlive ||
             sibling.end.how == ProcessEnd::How::kUnknown;
    });
  }
  if (!MayBeCleanUp(process)) return true;
  return std::ranges::none_of(others, [&](uint32_t other) {
    return other != kNoIndex && &trace_.processes[other] != &process &&
           !ShareProcess(trace_.processes[other], process) &&
           EndsAnother(trace_, trace_.processes[other], process);
  });
}

bool FailedInACall(const Trace& trace, const Process& process) {
  return process.exception && std::ranges::any_of(process.open_calls, [&](const OpenCall& call) {
           return IsC10d(trace.arguments[call.event.arguments].operation);
         });
}

int64_t ClockErrorNs(const Process& a, const Process& b) {
  if (a.host == b.host && a.clock == b.clock) return 0;
  if (!a.clock || !b.clock) return kUnknownErrorNs;
  return std::min(a.clock->error_ns + b.clock->error_ns, kUnknownErrorNs);
}

bool IsFirstDeathCertain(const Trace& trace, const Process& process) {
  if (!MayBeCleanUp(process)) return true;
  const std::vector<uint32_t>& others = trace.worlds[process.world].processes;
  return std::ranges::none_of(others, [&](uint32_t other) {
    if (other == kNoIndex || &trace.processes[other] == &process) return false;
    const Process& sibling = trace.processes[other];
    if (ShareProcess(sibling, process)) return false;
    // How a vanished process ended was not observed: it may have been killed first.
    const bool may_be_first =
        MayBeCleanUp(sibling) || sibling.end.how == ProcessEnd::How::kVanished;
    return HasEnded(sibling.end) && may_be_first && !EndedAfterVerdict(sibling) &&
           !sibling.end.by_launcher && !sibling.end.by_rollcall &&
           IsOrderUncertain(sibling, process);
  });
}

}  // namespace rollcall
